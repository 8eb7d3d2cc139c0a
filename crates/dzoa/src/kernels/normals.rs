//! Standard normals by the hundred: eight xoshiro256+ generators side by side, and Box and Muller's
//! transform.
//!
//! The transform works in single precision, two to a word of a generator: a direction needs a
//! distribution without a visible seam, not sixteen digits. Its values are exact in double
//! precision from here on.
//!
//! Directions are public or worthless to an attacker who lacks the data; privacy noise never comes
//! from here.

use super::{Body, LANES, Permit, current};
use std::f32::consts::LN_2;

/// Pairs of normals from two draws of the eight generators.
const PAIRS: usize = 2 * LANES;

/// The normals of one agent, round and purpose, step by step: any step can be drawn at any time.
#[derive(Clone)]
pub struct Normals {
    /// A start for every word of every generator, from a cryptographic hash.
    key: [[u64; LANES]; 4],
}

impl std::fmt::Debug for Normals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key redraws every direction.
        f.write_str("Normals")
    }
}

impl Normals {
    /// From 256 bytes that no other stream has.
    pub fn new(bytes: &[u8; 256]) -> Self {
        let mut words = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        Self { key: [(); 4].map(|()| [(); LANES].map(|()| words.next().unwrap_or_default())) }
    }

    /// Fills a buffer with the normals of one step.
    #[doc(alias = "Algorithm 1, line 7: the directions")]
    pub fn fill(&self, step: u64, out: &mut [f64]) {
        let key = &self.key;
        match current() {
            Permit::Portable => fill(Portable, key, step, out),
            #[cfg(target_arch = "x86_64")]
            Permit::Avx2(simd) => {
                simd.vectorize(Body(
                    #[inline(always)]
                    || fill(simd, key, step, out),
                ));
            }
            #[cfg(target_arch = "x86_64")]
            Permit::Avx512(simd) => {
                simd.vectorize(Body(
                    #[inline(always)]
                    || fill(simd, key, step, out),
                ));
            }
        }
    }
}

/// SplitMix64.
#[inline(always)]
fn mixed(word: u64, step: u64) -> u64 {
    let z = word.wrapping_add(step.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Eight words at once. The compiler does not see that eight generators are one loop over vectors;
/// this tells it.
trait Words: Copy {
    type Eight: Copy;
    fn load(self, words: &[u64; LANES]) -> Self::Eight;
    fn store(self, words: Self::Eight) -> [u32; PAIRS];
    fn add(self, a: Self::Eight, b: Self::Eight) -> Self::Eight;
    fn xor(self, a: Self::Eight, b: Self::Eight) -> Self::Eight;
    fn shift_17(self, a: Self::Eight) -> Self::Eight;
    fn rotate_45(self, a: Self::Eight) -> Self::Eight;
}

#[derive(Clone, Copy)]
struct Portable;

impl Words for Portable {
    type Eight = [u64; LANES];

    fn load(self, words: &[u64; LANES]) -> [u64; LANES] {
        *words
    }

    fn store(self, words: [u64; LANES]) -> [u32; PAIRS] {
        // The lower half first, whatever the order of this machine's bytes.
        std::array::from_fn(|i| (words[i / 2] >> (32 * (i % 2))) as u32)
    }

    fn add(self, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        std::array::from_fn(|lane| a[lane].wrapping_add(b[lane]))
    }

    fn xor(self, a: [u64; LANES], b: [u64; LANES]) -> [u64; LANES] {
        std::array::from_fn(|lane| a[lane] ^ b[lane])
    }

    fn shift_17(self, a: [u64; LANES]) -> [u64; LANES] {
        a.map(|a| a << 17)
    }

    fn rotate_45(self, a: [u64; LANES]) -> [u64; LANES] {
        a.map(|a| a.rotate_left(45))
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for pulp::x86::V3 {
    type Eight = [core::arch::x86_64::__m256i; 2];

    #[inline(always)]
    fn load(self, words: &[u64; LANES]) -> Self::Eight {
        pulp::cast(*words)
    }

    #[inline(always)]
    fn store(self, words: Self::Eight) -> [u32; PAIRS] {
        pulp::cast(words)
    }

    #[inline(always)]
    fn add(self, a: Self::Eight, b: Self::Eight) -> Self::Eight {
        [self.avx2._mm256_add_epi64(a[0], b[0]), self.avx2._mm256_add_epi64(a[1], b[1])]
    }

    #[inline(always)]
    fn xor(self, a: Self::Eight, b: Self::Eight) -> Self::Eight {
        [self.avx2._mm256_xor_si256(a[0], b[0]), self.avx2._mm256_xor_si256(a[1], b[1])]
    }

    #[inline(always)]
    fn shift_17(self, a: Self::Eight) -> Self::Eight {
        [self.avx2._mm256_slli_epi64::<17>(a[0]), self.avx2._mm256_slli_epi64::<17>(a[1])]
    }

    #[inline(always)]
    fn rotate_45(self, a: Self::Eight) -> Self::Eight {
        let left =
            [self.avx2._mm256_slli_epi64::<45>(a[0]), self.avx2._mm256_slli_epi64::<45>(a[1])];
        let right =
            [self.avx2._mm256_srli_epi64::<19>(a[0]), self.avx2._mm256_srli_epi64::<19>(a[1])];
        [self.avx2._mm256_or_si256(left[0], right[0]), self.avx2._mm256_or_si256(left[1], right[1])]
    }
}

#[cfg(target_arch = "x86_64")]
impl Words for pulp::x86::V4 {
    type Eight = core::arch::x86_64::__m512i;

    #[inline(always)]
    fn load(self, words: &[u64; LANES]) -> Self::Eight {
        pulp::cast(*words)
    }

    #[inline(always)]
    fn store(self, words: Self::Eight) -> [u32; PAIRS] {
        pulp::cast(words)
    }

    #[inline(always)]
    fn add(self, a: Self::Eight, b: Self::Eight) -> Self::Eight {
        self.avx512f._mm512_add_epi64(a, b)
    }

    #[inline(always)]
    fn xor(self, a: Self::Eight, b: Self::Eight) -> Self::Eight {
        self.avx512f._mm512_xor_si512(a, b)
    }

    #[inline(always)]
    fn shift_17(self, a: Self::Eight) -> Self::Eight {
        self.avx512f._mm512_slli_epi64::<17>(a)
    }

    #[inline(always)]
    fn rotate_45(self, a: Self::Eight) -> Self::Eight {
        self.avx512f._mm512_rol_epi64::<45>(a)
    }
}

#[inline(always)]
fn fill<W: Words>(words: W, key: &[[u64; LANES]; 4], step: u64, out: &mut [f64]) {
    let [a, b, c, d] = key;
    let mut state = [
        start(words, a, step),
        start(words, b, step),
        start(words, c, step),
        start(words, d, step),
    ];
    let (blocks, rest) = out.as_chunks_mut::<{ 2 * PAIRS }>();
    for block in blocks {
        normals(words, &mut state, block);
    }
    if !rest.is_empty() {
        let mut block = [0.0; 2 * PAIRS];
        normals(words, &mut state, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

/// Each word of the key starts a sequence over the steps.
#[inline(always)]
fn start<W: Words>(words: W, key: &[u64; LANES], step: u64) -> W::Eight {
    let mut start = [0; LANES];
    for lane in 0..LANES {
        start[lane] = mixed(key[lane], step);
    }
    words.load(&start)
}

#[inline(always)]
fn normals<W: Words>(words: W, state: &mut [W::Eight; 4], out: &mut [f64; 2 * PAIRS]) {
    let (radii, angles) = (next(words, state), next(words, state));
    let mut lengths = [0.0; PAIRS];
    for (length, radius) in lengths.iter_mut().zip(&radii) {
        *length = box_muller_length(*radius);
    }
    let mut pairs = [[0.0; PAIRS]; 2];
    for i in 0..PAIRS {
        (pairs[0][i], pairs[1][i]) = box_muller_turn(lengths[i], radii[i], angles[i]);
    }
    for (out, value) in out.iter_mut().zip(pairs.as_flattened()) {
        *out = f64::from(*value);
    }
}

/// Blackman and Vigna's xoshiro256+, each word as two halves. Its lowest bits are weak as a
/// sequence of bits (their linear complexity is low), not in their distribution.
#[inline(always)]
fn next<W: Words>(words: W, [a, b, c, d]: &mut [W::Eight; 4]) -> [u32; PAIRS] {
    let sum = words.add(*a, *d);
    let shifted = words.shift_17(*b);
    *c = words.xor(*c, *a);
    *d = words.xor(*d, *b);
    *b = words.xor(*b, *c);
    *a = words.xor(*a, *d);
    *c = words.xor(*c, shifted);
    *d = words.rotate_45(*d);
    words.store(sum)
}

/// Box and Muller: the length of two normals together, from 31 bits of a word.
#[inline(always)]
fn box_muller_length(radius: u32) -> f32 {
    const SQRT_2: u32 = 0x3FB5_04F3;
    // u = (n + 1/2)/2^31, rounded to 24 bits, so that tails end at 6.66, as 2^-j (1 + f) with 1 + f
    // from sqrt(1/2) to sqrt(2).
    let n = (radius & !SIGN) as i32 as f32;
    let u = n.mul_add(2f32.powi(-31), 2f32.powi(-32));
    let j = SQRT_2.wrapping_sub(u.to_bits()) >> 23;
    let f = f32::from_bits(u.to_bits().wrapping_add(j << 23)) - 1.0;
    // ln(1 + f)/f, interpolated to 4e-8; in pairs, because a chain of nine would wait for itself.
    let (f2, f4) = (f * f, (f * f) * (f * f));
    let pair = |even: f32, odd: f32| odd.mul_add(f, even);
    let low = pair(0.333_341_93, -0.250_013_52).mul_add(f2, pair(0.999_999_97, -0.499_999_96));
    let high = pair(0.149_774_01, -0.142_692_58).mul_add(f2, pair(0.199_559_33, -0.165_779_93));
    let quotient = 0.085_333_13_f32.mul_add(f4, high).mul_add(f4, low);
    (-2.0 * f).mul_add(quotient, j as i32 as f32 * (2.0 * LN_2)).sqrt()
}

/// The two normals of this length: at an angle from another word, with the sign of the first.
#[inline(always)]
fn box_muller_turn(length: f32, radius: u32, angle: u32) -> (f32, f32) {
    // The angle pi h with h in [-1/2, 1/2], and the other half of the circle by the sign.
    // Interpolated to 9e-8, and to 2e-7 with all rounding.
    let h = angle as i32 as f32 * 2f32.powi(-32);
    let length = f32::from_bits(length.to_bits() ^ (radius & SIGN));
    let q = h * h;
    let sine = polynomial(q, [3.141_592_5, -5.167_71, 2.550_077_4, -0.598_290_4, 0.077_655_91]);
    let cosine = polynomial(q, [0.999_999_95, -4.934_793, 4.058_411, -1.331_873, 0.219_682_42]);
    (length * cosine, length * (h * sine))
}

/// `c_0 + c_1 x + c_2 x^2 + ...`
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut value = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        value = value.mul_add(x, coefficients[i]);
    }
    value
}

/// The highest bit.
const SIGN: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::super::{Level, at};
    use super::*;

    fn pair(radius: u32, angle: u32) -> (f64, f64) {
        let (cosine, sine) = box_muller_turn(box_muller_length(radius), radius, angle);
        (f64::from(cosine), f64::from(sine))
    }

    fn stream(byte: u8) -> Normals {
        let mut bytes = [0; 256];
        blake3::Hasher::new().update(&[byte]).finalize_xof().fill(&mut bytes);
        Normals::new(&bytes)
    }

    #[test]
    fn every_level_draws_the_same_bits() {
        for length in [1, 7, 16, 600, 1001] {
            let draws = Level::available().into_iter().map(|level| {
                let mut out = vec![0.0; length];
                at(level, || stream(1).fill(3, &mut out));
                out.into_iter().map(f64::to_bits).collect::<Vec<_>>()
            });
            let draws: Vec<_> = draws.collect();
            assert!(draws.windows(2).all(|pair| pair[0] == pair[1]), "length {length}");
        }
    }

    #[test]
    fn a_pair_is_box_and_mullers_transform() {
        use std::f64::consts::PI;
        let check = |radius: u32, angle: u32| {
            let u = (f64::from(radius & !SIGN) + 0.5) / 2f64.powi(31);
            let turn = if radius & SIGN != 0 { PI } else { 0.0 };
            let theta = PI * f64::from(angle as i32) / 2f64.powi(32) + turn;
            let length = (-2.0 * u.ln()).sqrt();
            // What rounding u and the angle to 24 bits does, and a few units in the last place.
            let rounding = 6e-8 * (u / length.max(1e-8) + 4.0 * length) + 1e-7 * length;
            let (x, y) = pair(radius, angle);
            assert!((x - length * theta.cos()).abs() < rounding, "{radius} {angle}: {x}");
            assert!((y - length * theta.sin()).abs() < rounding, "{radius} {angle}: {y}");
        };
        for i in 0..100_000u64 {
            let word = mixed(i, 1);
            // Shifted, so that the tails are looked at as closely as the rest.
            check((word as u32 & !SIGN) >> (i % 32), (word >> 32) as u32);
            check(word as u32, (word >> 32) as u32);
        }
        // The ends: the largest and the smallest radius.
        let (x, y) = pair(0, 1 << 30);
        assert!(((x * x + y * y).sqrt() - 6.660_437).abs() < 1e-5);
        assert_eq!(pair(!SIGN, 0), (0.0, 0.0));
    }
}
