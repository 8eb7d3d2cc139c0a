use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// All sets of so many of the numbers below `n`, as bits.
fn subsets(n: usize, size: usize) -> impl Iterator<Item = u32> {
    (0u32..1 << n).filter(move |set| set.count_ones() as usize == size)
}

/// The least sum of `v` over honest sets of this size with `agent` in them, one by one.
fn protection(v: &[f64], agent: usize, honest: usize) -> f64 {
    let sets = subsets(v.len(), honest).filter(|set| set >> agent & 1 == 1);
    let sum = |set: u32| (0..v.len()).filter(|j| set >> j & 1 == 1).map(|j| v[j]).sum::<f64>();
    sets.map(sum).fold(f64::INFINITY, f64::min)
}

/// The optimum of the linear program over all honest sets, by the simplex method on its dual:
/// maximise `sum y d`, where no agent is in sets of more than one in all.
fn optimum(d: &[f64], honest: usize) -> f64 {
    let agents = d.len();
    // A set protects the most sensitive of its members: the others ask for less.
    let sets: Vec<u32> = subsets(agents, honest).collect();
    let most =
        |set: u32| (0..agents).filter(|j| set >> j & 1 == 1).map(|j| d[j]).fold(0.0, f64::max);
    let columns = sets.len() + agents;
    // Rows: agents, with slacks. The last row: what is gained by each column, negative while it
    // pays.
    let mut table = vec![vec![0.0; columns + 1]; agents + 1];
    for (column, set) in sets.iter().enumerate() {
        (0..agents).for_each(|j| table[j][column] = f64::from(set >> j & 1));
        table[agents][column] = -most(*set);
    }
    for j in 0..agents {
        table[j][sets.len() + j] = 1.0;
        table[j][columns] = 1.0;
    }
    let mut basis: Vec<usize> = (sets.len()..columns).collect();
    // Bland's rule, the first column that pays and of equal rows the first variable: it ends.
    while let Some(enter) = (0..columns).find(|c| table[agents][*c] < -1e-12) {
        let ratio = |row: usize| table[row][columns] / table[row][enter];
        let leave = (0..agents)
            .filter(|row| table[*row][enter] > 1e-12)
            .min_by(|a, b| ratio(*a).total_cmp(&ratio(*b)).then(basis[*a].cmp(&basis[*b])))
            .expect("bounded: no column is larger than one");
        let pivot = table[leave][enter];
        table[leave].iter_mut().for_each(|x| *x /= pivot);
        basis[leave] = enter;
        let row = table[leave].clone();
        for (_, line) in table.iter_mut().enumerate().filter(|(other, _)| *other != leave) {
            let factor = line[enter];
            line.iter_mut().zip(&row).for_each(|(x, r)| *x -= factor * r);
        }
    }
    table[agents][columns]
}

#[test]
fn the_shares_are_the_optimum_of_the_program_over_all_honest_sets() {
    let mut rng = StdRng::seed_from_u64(2);
    for agents in 1..=7 {
        for colluders in 0..agents {
            for trial in 0..12 {
                // Ties, and agents that differ a hundredfold.
                let draw = |rng: &mut StdRng| match trial % 3 {
                    0 => 1.0,
                    1 => f64::from(rng.random_range(1..4u32)),
                    _ => rng.random_range(0.01f64..1.0),
                };
                let deltas: Vec<f64> = (0..agents).map(|_| draw(&mut rng)).collect();
                let (v, honest) = (variances(&deltas, colluders), agents - colluders);
                let d: Vec<f64> = deltas.iter().map(|delta| delta * delta).collect();
                for k in 0..agents {
                    let protects = protection(&v, k, honest);
                    assert!(protects >= d[k] * (1.0 - 1e-12), "{deltas:?} {colluders} {k}");
                    assert!(v[k] >= d[k] / honest as f64 * (1.0 - 1e-12), "the floor");
                }
                let (total, least) = (v.iter().sum::<f64>(), optimum(&d, honest));
                assert!(
                    (total / least - 1.0).abs() < 1e-9,
                    "{deltas:?} {colluders}: {total} {least}"
                );
            }
        }
    }
}

/// The design's four hospitals, under the mean scale.
const HOSPITALS: [u64; 4] = [303, 261, 46, 130];

fn hospitals() -> Vec<Silo> {
    HOSPITALS.iter().map(|&rows| Silo { rows, weight: 1.0 / rows as f64 }).collect()
}

#[test]
fn the_four_hospitals_need_what_the_design_says() {
    // Solved there with scipy's linprog; 1 is the square of the largest sensitivity.
    let deltas: Vec<f64> = HOSPITALS.iter().map(|rows| 46.0 / *rows as f64).collect();
    for (colluders, total) in [(0, 1.0), (1, 1.04), (2, 1.125), (3, 1.18)] {
        let sum: f64 = variances(&deltas, colluders).iter().sum();
        assert!((sum - total).abs() < 5e-3, "{colluders}: {sum}");
    }
}

#[test]
fn whole_draws_protect_at_little_more_noise() {
    for colluders in 0..4u32 {
        let shares = Shares::new(&hospitals(), Colluders::AtMost(colluders)).unwrap();
        let deltas: Vec<f64> = HOSPITALS.iter().map(|rows| 46.0 / *rows as f64).collect();
        let ideal = variances(&deltas, colluders as usize);
        let c: Vec<f64> = shares.multiples().iter().map(|c| f64::from(*c)).collect();
        // The unit: the largest is a whole multiple.
        let largest = ideal.iter().copied().fold(0.0, f64::max);
        let unit = largest / c.iter().copied().fold(0.0, f64::max);
        let drawn: Vec<f64> = c.iter().map(|c| c * unit).collect();
        for k in 0..4 {
            let protects = protection(&drawn, k, 4 - colluders as usize);
            assert!(protects >= deltas[k].powi(2) * (1.0 - 1e-11), "{colluders} {k}");
        }
        let (total, least) = (drawn.iter().sum::<f64>(), ideal.iter().sum::<f64>());
        assert!(total <= least * 1.02, "{colluders}: {total} {least} {c:?}");
    }
    // A silo a thousand times as large is rounded up to one draw: it adds a thousandth more than
    // the cap allows for, at most.
    let unequal = [Silo { rows: 10, weight: 0.1 }, Silo { rows: 10_000, weight: 1e-4 }];
    let shares = Shares::new(&unequal, Colluders::All).unwrap();
    let [small, large] = *shares.multiples() else { unreachable!() };
    assert!((60..=MOST_DRAWS).contains(&small) && large == 1, "{small} {large}");
}

#[test]
fn honest_draws_are_counted_as_one_by_one() {
    let mut rng = StdRng::seed_from_u64(3);
    for agents in 2..=7usize {
        for colluders in 0..agents - 1 {
            let silos: Vec<Silo> =
                (0..agents).map(|_| Silo { rows: 9, weight: rng.random_range(0.1..1.0) }).collect();
            let shares = Shares::new(&silos, Colluders::AtMost(colluders as u32)).unwrap();
            let c: Vec<f64> = shares.multiples().iter().map(|c| f64::from(*c)).collect();
            for k in 0..agents {
                for others in 0..agents {
                    let counted = protection(&c, k, agents - others);
                    assert_eq!(shares.honest_if(k, others) as f64, counted, "{c:?} {k} {others}");
                    if others >= colluders {
                        // Two numbers say all about more colluders than planned.
                        let (own, least) =
                            (u64::from(shares.multiples()[k]), u64::from(shares.least()));
                        let rest = (agents - 1 - others) as u64;
                        assert_eq!(shares.honest_if(k, others), own + rest * least);
                    }
                }
            }
        }
    }
}

#[test]
fn equal_silos_share_equally_and_without_masks_nobody_counts_on_others() {
    for agents in 1..40 {
        let silos = vec![Silo { rows: 7, weight: 1.0 / 7.0 }; agents];
        for colluders in 0..agents as u32 {
            let shares = Shares::new(&silos, Colluders::AtMost(colluders)).unwrap();
            assert!(shares.multiples().iter().all(|multiple| *multiple == 1));
            assert_eq!(shares.honest(0), agents as u64 - u64::from(colluders));
        }
        let all = Shares::new(&silos, Colluders::All).unwrap();
        assert!((0..agents).all(|t| all.honest_if(0, t) == 1) && all.condition().is_none());
    }
}

#[test]
fn silos_without_rows_or_weight_are_refused() {
    assert_eq!(Shares::new(&[], Colluders::All), Err(NoShares::Nobody));
    let good = Silo { rows: 1, weight: 1.0 };
    for (rows, weight) in [(0, 1.0), (1, 0.0), (1, -1.0), (1, f64::NAN), (1, f64::INFINITY)] {
        let refused = Shares::new(&[good, Silo { rows, weight }], Colluders::All);
        assert!(matches!(refused, Err(NoShares::Silo { agent: 1, .. })), "{rows} {weight}");
    }
}
