//! The inner loop's loops, compiled for several instruction sets and chosen at run time.
//!
//! The loops are plain Rust that the compiler vectorises; [`vectorized`] compiles them once for
//! each [`Level`]. Additions keep their order and products are fused where the code says so, on
//! every level alike: the same bits everywhere, for the directions as for the rest. (Matrix
//! products come from a library of their own, which does not promise that across machines.)

pub mod elementary;
pub mod normals;

use pulp::NullaryFnOnce;
use std::cell::Cell;
use std::ops::Range;
use std::sync::OnceLock;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has. Fused products may be slow there.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512.
    Avx512,
}

/// A level with the processor's permission to use it.
#[derive(Clone, Copy)]
enum Permit {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
}

impl Level {
    /// By the name that `DZOA_KERNELS` takes.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().find(|level| level.name() == name)
    }

    /// The name that `DZOA_KERNELS` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Those that this processor has, the plainest first.
    pub fn available() -> Vec<Self> {
        let has = |level: &Self| level.permit().level() == *level;
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().filter(has).collect()
    }

    /// The best permitted level that is not above this one.
    fn permit(self) -> Permit {
        #[cfg(target_arch = "x86_64")]
        {
            if let (Self::Avx512, Some(simd)) = (self, pulp::x86::V4::try_new()) {
                return Permit::Avx512(simd);
            }
            if let (Self::Avx2 | Self::Avx512, Some(simd)) = (self, pulp::x86::V3::try_new()) {
                return Permit::Avx2(simd);
            }
        }
        Permit::Portable
    }
}

impl Permit {
    fn level(self) -> Level {
        match self {
            Self::Portable => Level::Portable,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => Level::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => Level::Avx512,
        }
    }
}

/// The best level of this processor; `DZOA_KERNELS` (portable, avx2, avx512) can lower it.
fn best() -> Permit {
    static BEST: OnceLock<Permit> = OnceLock::new();
    *BEST.get_or_init(|| {
        let asked = std::env::var("DZOA_KERNELS").ok();
        asked.and_then(|name| Level::named(&name)).unwrap_or(Level::Avx512).permit()
    })
}

thread_local! {
    static LOWERED: Cell<Option<Permit>> = const { Cell::new(None) };
}

fn current() -> Permit {
    LOWERED.get().unwrap_or_else(best)
}

/// The level in use on this thread.
pub fn level() -> Level {
    current().level()
}

/// Runs `work` with at most this level, on this thread only: how the levels are compared.
pub fn at<R>(level: Level, work: impl FnOnce() -> R) -> R {
    let before = LOWERED.replace(Some(level.permit()));
    let result = work();
    LOWERED.set(before);
    result
}

/// Runs a loop as compiled for the current level. The closure must be marked `#[inline(always)]`,
/// and so must what it calls: only then is its body compiled anew.
#[inline]
pub fn vectorized<R>(body: impl FnOnce() -> R) -> R {
    match current() {
        Permit::Portable => body(),
        #[cfg(target_arch = "x86_64")]
        Permit::Avx2(simd) => simd.vectorize(Body(body)),
        #[cfg(target_arch = "x86_64")]
        Permit::Avx512(simd) => simd.vectorize(Body(body)),
    }
}

/// A closure, inlined wherever it is called.
struct Body<F>(F);

impl<R, F: FnOnce() -> R> NullaryFnOnce for Body<F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.0)()
    }
}

/// Numbers from the start of a cache line on: a vector that lies in two of them takes longer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aligned {
    place: Range<usize>,
    values: Vec<f64>,
}

impl Aligned {
    /// Makes room for so many; what they are is open.
    pub fn resize(&mut self, count: usize) {
        const LINE: usize = 64;
        const SPARE: usize = LINE / size_of::<f64>() - 1;
        self.values.resize(count + SPARE, 0.0);
        let start = self.values.as_ptr().align_offset(LINE).min(SPARE);
        self.place = start..start + count;
    }

    #[inline(always)]
    pub fn slice(&self) -> &[f64] {
        &self.values[self.place.clone()]
    }

    pub fn slice_mut(&mut self) -> &mut [f64] {
        &mut self.values[self.place.clone()]
    }
}

/// Numbers that one loop over vectors takes at a time.
pub(crate) const LANES: usize = 8;

/// So many values from here on.
#[inline(always)]
pub(crate) fn lanes<const W: usize>(values: &[f64], from: usize) -> [f64; W] {
    let mut lanes = [0.0; W];
    lanes.copy_from_slice(&values[from..from + W]);
    lanes
}

/// Summands that are added up item by item, for many directions side by side.
pub(crate) trait Summands {
    /// Adds an item's terms along the W directions from j on.
    fn add<const W: usize>(&self, item: usize, j: usize, sums: &mut [f64; W]);
}

/// Adds to `out[j]` the terms of all items, one after the other, for WIDE directions at a time: the
/// more work a term is, the more of them should be under way. The last group of directions is moved
/// back so that it fits, and of its sums only what is new is kept: no loop ever has a rest.
#[inline(always)]
pub(crate) fn add_terms<const WIDE: usize>(
    out: &mut [f64],
    items: Range<usize>,
    terms: &impl Summands,
) {
    let (count, mut from) = (out.len(), 0);
    while from < count {
        let items = items.clone();
        from += if count >= WIDE && count - from > LANES {
            add_group::<WIDE>(out, from, items, terms)
        } else if count >= LANES {
            add_group::<LANES>(out, from, items, terms)
        } else {
            add_group::<1>(out, from, items, terms)
        };
    }
}

#[inline(always)]
fn add_group<const W: usize>(
    out: &mut [f64],
    from: usize,
    items: Range<usize>,
    terms: &impl Summands,
) -> usize {
    let start = from.min(out.len() - W);
    // Said once here, it need not be asked for every item.
    assert!(start + W <= out.len());
    let mut sums = [0.0; W];
    for item in items {
        terms.add(item, start, &mut sums);
    }
    for (lane, out) in out[start..start + W].iter_mut().enumerate() {
        *out += if start + lane < from { 0.0 } else { sums[lane] };
    }
    W
}

/// Ones in the last lanes, as many as the place in the list says.
const LAST: [[u64; LANES]; LANES] = {
    let mut masks = [[0; LANES]; LANES];
    let mut count = 0;
    while count < LANES {
        let mut lane = LANES - count;
        while lane < LANES {
            masks[count][lane] = u64::MAX;
            lane += 1;
        }
        count += 1;
    }
    masks
};

/// Lines that [`dots`] takes at a time where there are many.
pub(crate) const TALL: usize = 5;

/// `sum_i a_i b_i`, in eight sums that are added at the end: fast, and the same on every level.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let [dot] = dots(a, [b]);
    dot
}

/// [`dot`] with several lines at once, each at least as long as a.
#[inline(always)]
pub(crate) fn dots<const N: usize>(a: &[f64], lines: [&[f64]; N]) -> [f64; N] {
    let (count, rest) = (a.len(), a.len() % LANES);
    let lines = lines.map(|line| &line[..count]);
    if count < LANES {
        return lines.map(|line| a.iter().zip(line).map(|(a, b)| a * b).sum());
    }
    let mut sums = [[0.0; LANES]; N];
    for from in (0..count - rest).step_by(LANES) {
        add_products(lanes(a, from), lines, from, &mut sums);
    }
    if rest > 0 {
        // The last eight, without those that were counted.
        let from = count - LANES;
        let mut new: [f64; LANES] = lanes(a, from);
        for lane in 0..LANES {
            new[lane] = f64::from_bits(new[lane].to_bits() & LAST[rest][lane]);
        }
        add_products(new, lines, from, &mut sums);
    }
    // The compiler must not look through to the additions of the end: it would make all vectors as
    // short as the last.
    let sums = std::hint::black_box(sums);
    sums.map(|[a, b, c, d, e, f, g, h]| ((a + e) + (c + g)) + ((b + f) + (d + h)))
}

#[inline(always)]
fn add_products<const N: usize>(
    a: [f64; LANES],
    lines: [&[f64]; N],
    from: usize,
    sums: &mut [[f64; LANES]; N],
) {
    for (sums, line) in sums.iter_mut().zip(lines) {
        let line: [f64; LANES] = lanes(line, from);
        for lane in 0..LANES {
            sums[lane] = a[lane].mul_add(line[lane], sums[lane]);
        }
    }
}

/// `out[i] = a' lines[i]` for the lines of a matrix, each so many places long and with what is
/// wanted from `from` on. The last few are moved back so that they fit.
#[inline(always)]
pub(crate) fn dot_lines(a: &[f64], matrix: &[f64], length: usize, from: usize, out: &mut [f64]) {
    let count = out.len();
    let line = |i: usize| &matrix[i * length + from..];
    if count < TALL {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = dot(a, line(i)));
    } else {
        for first in (0..count).step_by(TALL).map(|first| first.min(count - TALL)) {
            let sums = dots(a, std::array::from_fn::<_, TALL, _>(|i| line(first + i)));
            out[first..first + TALL].copy_from_slice(&sums);
        }
    }
}

/// What computes: another version, or another instruction set, may round differently.
pub(crate) fn program() -> String {
    format!("{} {}", env!("CARGO_PKG_VERSION"), level().name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_exact_where_whole_numbers_are() {
        for level in Level::available() {
            for count in [1, 4, 5, 7, 12] {
                for length in 1..70 {
                    // i times (i + row), summed over i from 0: closed forms of sums of squares and
                    // numbers.
                    let a: Vec<f64> = (0..length).map(|i| i as f64).collect();
                    let line =
                        |row: usize| (0..length + 3).map(move |i| i as f64 + row as f64 - 2.0);
                    let matrix: Vec<f64> = (0..count).flat_map(line).collect();
                    let mut out = vec![f64::NAN; count];
                    at(level, || {
                        vectorized(
                            #[inline(always)]
                            || dot_lines(&a, &matrix, length + 3, 2, &mut out),
                        );
                    });
                    for (row, dot) in out.into_iter().enumerate() {
                        let numbers = length * (length - 1) / 2;
                        let squares = numbers * (2 * length - 1) / 3;
                        assert_eq!(dot, (squares + row * numbers) as f64, "{count} {length} {row}");
                    }
                }
            }
        }
    }
}
