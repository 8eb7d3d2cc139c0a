//! The inner loop's loops, compiled for several instruction sets and chosen at run time.
//!
//! The loops are plain Rust that the compiler vectorises; [`vectorized`] compiles them once for each [`Level`].
//! Additions keep their order and products are fused where the code says so, on every level alike: the same
//! bits everywhere, for the directions as for the rest. (Matrix products come from a library of their own, which
//! does not promise that across machines.)

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
        let levels = [("portable", Self::Portable), ("avx2", Self::Avx2), ("avx512", Self::Avx512)];
        levels.into_iter().find(|(known, _)| *known == name).map(|(_, level)| level)
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

/// Runs a loop as compiled for the current level. The closure must be marked `#[inline(always)]`, and so must what
/// it calls: only then is its body compiled anew.
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

/// Directions that are treated together.
pub(crate) const LANES: usize = 8;

/// Eight values from here on.
#[inline(always)]
pub(crate) fn eight(values: &[f64], from: usize) -> [f64; LANES] {
    let mut eight = [0.0; LANES];
    eight.copy_from_slice(&values[from..from + LANES]);
    eight
}

/// Eights of directions over which the items are gone through once: each item's numbers for all of them lie side by
/// side in memory.
const WIDE: usize = 4;

/// Adds to `out[j]` the terms of all items, one after the other. `add(item, j, sums)` adds those of the eight
/// directions from j on. The last eight are moved back so that they fit, and of them only what is new is kept: no
/// loop ever has a rest. Fewer than eight are left to `one(item, j)`.
#[inline(always)]
pub(crate) fn add_terms(
    out: &mut [f64],
    items: Range<usize>,
    add: impl Fn(usize, usize, &mut [f64; LANES]),
    one: impl Fn(usize, usize) -> f64,
) {
    let count = out.len();
    if count < LANES {
        for (j, out) in out.iter_mut().enumerate() {
            *out += items.clone().map(|item| one(item, j)).sum::<f64>();
        }
        return;
    }
    let eights = count.div_ceil(LANES);
    let whole = eights - eights % WIDE;
    for first in (0..whole).step_by(WIDE) {
        add_wide::<WIDE>(out, first, items.clone(), &add);
    }
    for first in whole..eights {
        add_wide::<1>(out, first, items.clone(), &add);
    }
}

#[inline(always)]
fn add_wide<const WIDE: usize>(
    out: &mut [f64],
    first: usize,
    items: Range<usize>,
    add: &impl Fn(usize, usize, &mut [f64; LANES]),
) {
    let last = out.len() - LANES;
    let mut sums = [[0.0; LANES]; WIDE];
    for item in items {
        for (eight, sums) in sums.iter_mut().enumerate() {
            add(item, ((first + eight) * LANES).min(last), sums);
        }
    }
    for (eight, sums) in sums.iter().enumerate() {
        let from = (first + eight) * LANES;
        let start = from.min(last);
        for lane in from - start..LANES {
            out[start + lane] += sums[lane];
        }
    }
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

/// `sum_i a_i b_i`, in eight sums that are added at the end: fast, and the same on every level.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (count, rest) = (a.len(), a.len() % LANES);
    if count < LANES {
        return a.iter().zip(b).map(|(a, b)| a * b).sum();
    }
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    if rest > 0 {
        // The last eight, without those that were counted.
        let (a, b) = (eight(a, count - LANES), eight(b, count - LANES));
        for lane in 0..LANES {
            sums[lane] += f64::from_bits((a[lane] * b[lane]).to_bits() & LAST[rest][lane]);
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}
