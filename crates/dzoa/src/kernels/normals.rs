//! Standard normals by the hundred: eight xoshiro256+ generators side by side, and Box and Muller's transform.
//!
//! Directions are public or worthless to an attacker who lacks the data; privacy noise never comes from here.

use super::{Body, LANES, Permit, current, elementary::polynomial};
use std::f64::consts::LN_2;

/// Pairs of normals from two draws of the eight generators.
const PAIRS: usize = LANES;
/// Such blocks that are made together: one alone is a chain of instructions that wait for each other, and of more the
/// numbers no longer fit into the registers.
const TOGETHER: usize = 2;

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
            // The generators of AVX2 serve here, too; the transform gets the wide registers.
            #[cfg(target_arch = "x86_64")]
            Permit::Avx512(simd) => {
                simd.vectorize(Body(
                    #[inline(always)]
                    || fill(*simd, key, step, out),
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

/// Eight words at once. The compiler does not see that eight generators are one loop over vectors; this
/// tells it.
trait Words: Copy {
    type Eight: Copy;
    fn load(self, words: &[u64; LANES]) -> Self::Eight;
    fn store(self, words: Self::Eight) -> [u64; LANES];
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

    fn store(self, words: [u64; LANES]) -> [u64; LANES] {
        words
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
    fn store(self, words: Self::Eight) -> [u64; LANES] {
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

#[inline(always)]
fn fill<W: Words>(words: W, key: &[[u64; LANES]; 4], step: u64, out: &mut [f64]) {
    let [a, b, c, d] = key;
    let mut state = [
        start(words, a, step),
        start(words, b, step),
        start(words, c, step),
        start(words, d, step),
    ];
    let (blocks, rest) = out.as_chunks_mut::<{ 2 * PAIRS * TOGETHER }>();
    for block in blocks {
        normals(words, &mut state, block);
    }
    if !rest.is_empty() {
        let mut block = [0.0; 2 * PAIRS * TOGETHER];
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
fn normals<W: Words>(words: W, state: &mut [W::Eight; 4], out: &mut [f64; 2 * PAIRS * TOGETHER]) {
    let (mut radii, mut angles) = ([[0; PAIRS]; TOGETHER], [[0; PAIRS]; TOGETHER]);
    for (radii, angles) in radii.iter_mut().zip(&mut angles) {
        (*radii, *angles) = (next(words, state), next(words, state));
    }
    let mut lengths = [0.0; PAIRS * TOGETHER];
    for (length, radius) in lengths.iter_mut().zip(radii.as_flattened()) {
        *length = box_muller_length(*radius);
    }
    for (block, out) in out.as_chunks_mut::<{ 2 * PAIRS }>().0.iter_mut().enumerate() {
        let (cosines, sines) = out.split_at_mut(PAIRS);
        for i in 0..PAIRS {
            let length = lengths[block * PAIRS + i];
            (cosines[i], sines[i]) = box_muller_turn(length, angles[block][i]);
        }
    }
}

/// Blackman and Vigna's xoshiro256+, whose weak lowest bits are not used.
#[inline(always)]
fn next<W: Words>(words: W, [a, b, c, d]: &mut [W::Eight; 4]) -> [u64; LANES] {
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

const ONE: u64 = 0x3FF0_0000_0000_0000;

/// Box and Muller: the length of two normals together, from a word. The polynomials are good to 1e-12.
#[inline(always)]
fn box_muller_length(radius: u64) -> f64 {
    const SQRT_2: u64 = 0x3FF6_A09E_667F_3BCD;
    // u in (0, 1] with 52 bits (so that tails end at 8.49), as 2^-j (1 + f) with 1 + f from sqrt(1/2) to sqrt(2).
    let u = 2.0 - f64::from_bits((radius >> 12) | ONE);
    let j = SQRT_2.wrapping_sub(u.to_bits()) >> 52;
    let f = f64::from_bits(u.to_bits().wrapping_add(j << 52)) - 1.0;
    let j = f64::from_bits(j | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    // ln(1 + f) = 2 s + s^3 (2/3 + ...), interpolated.
    let s = f / (2.0 + f);
    let z = s * s;
    let tail = polynomial(
        z,
        [
            0.666_666_666_673_827_7,
            0.399_999_987_868_832_84,
            0.285_717_566_681_463_14,
            0.221_912_655_991_719_67,
            0.193_652_784_217_572_23,
        ],
    );
    let ln = s * tail.mul_add(z, 2.0);
    (2.0 * j).mul_add(LN_2, -2.0 * ln).sqrt()
}

/// The two normals of this length at an angle from another word.
#[inline(always)]
fn box_muller_turn(length: f64, angle: u64) -> (f64, f64) {
    // The angle pi h with h in [-1/2, 1/2), and the other half of the circle by the highest bit.
    let h = f64::from_bits(((angle << 1) >> 12) | ONE) - 1.5;
    let length = f64::from_bits(length.to_bits() ^ (angle & (1 << 63)));
    let q = h * h;
    let sine = polynomial(
        q,
        [
            3.141_592_653_589_635,
            -5.167_712_779_987_959,
            2.550_164_035_906_745,
            -0.599_264_433_935_728_6,
            0.082_144_794_670_648_54,
            -0.007_364_005_472_115_722,
            0.000_447_492_084_907_710_1,
        ],
    );
    let cosine = polynomial(
        q,
        [
            0.999_999_999_999_247_9,
            -4.934_802_200_249_85,
            4.058_712_107_537_437_5,
            -1.335_262_315_261_57,
            0.235_325_436_587_711_2,
            -0.025_776_316_427_315_86,
            0.001_839_989_437_269_404_3,
        ],
    );
    (length * cosine, length * (h * sine))
}

#[cfg(test)]
mod tests {
    use super::super::{Level, at};
    use super::*;

    fn pair(radius: u64, angle: u64) -> (f64, f64) {
        box_muller_turn(box_muller_length(radius), angle)
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
        for i in 0..100_000u64 {
            let (radius, angle) = (mixed(i, 1), mixed(i, 2));
            let u = (((1u64 << 52) - (radius >> 12)) as f64) / 2f64.powi(52);
            let h = ((angle << 1) >> 12) as f64 / 2f64.powi(52) - 0.5;
            let turn = if angle >> 63 == 1 { std::f64::consts::PI } else { 0.0 };
            let theta = std::f64::consts::PI * h + turn;
            let length = (-2.0 * u.ln()).sqrt();
            let (x, y) = pair(radius, angle);
            assert!((x - length * theta.cos()).abs() < 1e-11, "{x}");
            assert!((y - length * theta.sin()).abs() < 1e-11, "{y}");
        }
        // The ends: the largest and the smallest radius.
        assert_eq!(pair(0, 0).0.abs() + pair(0, 0).1.abs(), 0.0);
        let (x, y) = pair(u64::MAX, 1 << 62);
        assert!(((x * x + y * y).sqrt() - 8.490_424).abs() < 1e-3);
    }
}
