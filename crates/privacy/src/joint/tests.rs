//! The whole path, from rows to the sum.

use super::*;
use crate::{BrokenSeal, Colluders, Digest, Event, Hex, Ledger, Receipt, RunId};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

const NETWORK: Digest = Hex([2; 32]);
const RUN: RunId = Hex([5; 16]);

/// K agents with keys, and the rows that each holds: one.
struct Network {
    names: Vec<String>,
    roster: Roster,
    masks: Vec<Masks>,
    keys: Vec<ShareKey>,
}

fn rows_of(agent: usize) -> Digest {
    let mut digest = [9; 32];
    digest[..8].copy_from_slice(&(agent as u64).to_le_bytes());
    digest.into()
}

fn root_of(agent: usize) -> [u8; 32] {
    let mut root = [4; 32];
    root[..8].copy_from_slice(&(agent as u64).to_le_bytes());
    root
}

impl Network {
    fn new(agents: usize) -> Self {
        // By name, so that positions are those of the members.
        let names: Vec<String> = (0..agents).map(|k| format!("agent-{k:05}")).collect();
        let roots: Vec<[u8; 32]> = (0..agents).map(root_of).collect();
        let origin = |k: usize| Origin { root: &roots[k], agent: &names[k], rows: rows_of(k) };
        let key = |k: usize| MaskKey::new(&origin(k), NETWORK);
        let publics = (0..agents).map(|k| (names[k].clone(), key(k).public()));
        let roster = Roster::new(publics).unwrap();
        let masks = (0..agents).map(|k| Masks::new(key(k), roster.clone()).unwrap()).collect();
        let keys = (0..agents).map(|k| ShareKey::new(&origin(k))).collect();
        Self { names, roster, masks, keys }
    }

    fn members(&self) -> Members {
        Members::new(self.names.iter().cloned()).unwrap()
    }

    fn transcript(&self) -> Transcript {
        Transcript::new(&Opening {
            network: NETWORK,
            program: "dzoa",
            roster: Some(self.roster.digest()),
            rows: &vec![3; self.names.len()],
            colluders: Colluders::AtMost(1),
        })
    }

    fn context(&self, colluders: Colluders, coordinates: usize) -> Context {
        context_of(&self.transcript(), &self.members(), colluders, coordinates)
    }

    fn charged(&self, context: &Context, k: usize) -> Receipt {
        Ledger::default().charge(context.charge(k, RUN, "dzoa", &self.keys[k])).unwrap()
    }

    fn share(&self, context: &Context, k: usize, rows: &[Vec<f64>]) -> Share {
        let mut sum = Accumulator::new(context, k);
        rows.iter().for_each(|row| sum.add(row).unwrap());
        sum.finish().share(self.charged(context, k), &self.keys[k]).unwrap()
    }
}

fn context_of(
    transcript: &Transcript,
    members: &Members,
    colluders: Colluders,
    coordinates: usize,
) -> Context {
    let silos = vec![Silo { rows: 3, weight: 1.0 / 3.0 }; members.len()];
    let shares = Shares::new(&silos, colluders).unwrap();
    let query = shares.query(Region::ball(coordinates, 1.0).unwrap(), 0.5).unwrap();
    let turn = Turn { round: 1, attempt: 0, members, purpose: "gradient", point: &[0.5, -1.0] };
    transcript.context(&turn, query).unwrap()
}

fn rows(agent: usize, coordinates: usize) -> Vec<Vec<f64>> {
    let mut rng = StdRng::seed_from_u64(agent as u64);
    let mut row = || (0..coordinates).map(|_| rng.random_range(-0.3..0.3)).collect();
    vec![row(), row(), row()]
}

/// What an honest agent would send if all it added were masks, and what it hides.
fn bare(context: &Context, position: usize, values: Vec<i64>) -> Share {
    Share::bare(context.clone(), position, values)
}

#[test]
fn masked_sums_are_plain_sums_bit_for_bit_for_every_number_of_agents_in_any_order() {
    let mut rng = StdRng::seed_from_u64(6);
    for agents in 2..=64 {
        let mut network = Network::new(agents);
        let t = agents as u32 / 3;
        for colluders in [Colluders::AtMost(t), Colluders::All] {
            let context = network.context(colluders, 3);
            let (mut plain, mut sent) = ([0i64; 3], Vec::new());
            for k in 0..agents {
                let share = network.share(&context, k, &rows(k, 3));
                plain.iter_mut().zip(share.values()).for_each(|(sum, value)| *sum += value);
                sent.push(share.mask(&mut network.masks[k]).unwrap());
            }
            sent.shuffle(&mut rng);
            let sum = Sum::of(&context, sent.iter().map(Masked::words)).unwrap();
            assert_eq!(sum.steps(), plain, "{agents} {colluders}");
            // And it is the sum of the rows, with the noise of all shares: ten deviations.
            let query = context.query();
            let draws = query.shares().multiples().iter().sum::<u32>() as f64;
            let value = |i: usize| {
                let rows = (0..agents).flat_map(|k| rows(k, 3));
                rows.map(|row| row[i]).sum::<f64>() / 3.0
            };
            for (i, found) in sum.values().into_iter().enumerate() {
                assert!((found - value(i)).abs() < 10.0 * query.share() * draws.sqrt(), "{agents}");
            }
        }
    }
}

#[test]
fn sparse_mask_graphs_cancel_too() {
    let mut network = Network::new(131);
    let context = network.context(Colluders::AtMost(4), 2);
    let sent: Vec<Masked> = (0..131)
        .map(|k| bare(&context, k, vec![k as i64, -7]).mask(&mut network.masks[k]).unwrap())
        .collect();
    let sum = Sum::of(&context, sent.iter().map(Masked::words)).unwrap();
    assert_eq!(sum.steps(), [130 * 131 / 2, -7 * 131]);
}

/// The probability that a chi-square of 255 degrees exceeds this is 1e-11 (Wilson and Hilferty:
/// `255 (1 - 2/(9 255) + 6.706 sqrt(2/(9 255)))^3`): 112 tests alarm in 2e-9 of all seeds.
const CHI_SQUARE: f64 = 430.0;

#[test]
fn the_words_of_every_proper_subset_are_uniform() {
    // 2^24 words a subset, from many sums. Every subset of four agents, the sum of its words, each
    // of their bytes; behind the masks lie zeros, which are not uniform at all.
    const SUMS: u64 = 1 << 8;
    const WORDS: usize = 1 << 16;
    type Counts = Vec<[[u32; 256]; 8]>;
    let counted = |rounds: std::ops::Range<u64>| {
        let mut network = Network::new(4);
        let (transcript, members) = (network.transcript(), network.members());
        let query = network.context(Colluders::AtMost(1), WORDS).query().clone();
        let mut counts: Counts = vec![[[0; 256]; 8]; 15];
        for round in rounds {
            let turn =
                Turn { round, attempt: 0, members: &members, purpose: "gradient", point: &[0.5] };
            let context = transcript.context(&turn, query.clone()).unwrap();
            let sent: Vec<Words> = (0..4)
                .map(|k| {
                    let share = bare(&context, k, vec![0; WORDS]);
                    share.mask(&mut network.masks[k]).unwrap().words().clone()
                })
                .collect();
            for (subset, counts) in (1u32..15).zip(&mut counts[1..]) {
                let chosen = (0..4).filter(|k| subset >> k & 1 == 1).map(|k| &sent[k]);
                let chosen: Vec<&[u64]> = chosen.map(|words| &words[..]).collect();
                for i in 0..WORDS {
                    let sum = chosen.iter().fold(0u64, |sum, words| sum.wrapping_add(words[i]));
                    let bytes = sum.to_le_bytes();
                    counts.iter_mut().zip(bytes).for_each(|(counts, b)| counts[b as usize] += 1);
                }
            }
            let all = Sum::of(&context, &sent).unwrap();
            assert!(all.steps().iter().all(|steps| *steps == 0), "and all of them cancel");
        }
        counts
    };
    let halves: Vec<Counts> = std::thread::scope(|scope| {
        let begun = [1..SUMS / 2 + 1, SUMS / 2 + 1..SUMS + 1].map(|r| scope.spawn(|| counted(r)));
        begun.into_iter().map(|half| half.join().unwrap()).collect()
    });
    let expected = (SUMS as usize * WORDS) as f64 / 256.0;
    for (subset, byte) in (1..15).flat_map(|subset| (0..8).map(move |byte| (subset, byte))) {
        let count = |value: usize| halves.iter().map(|half| half[subset][byte][value]).sum::<u32>();
        let off = |value: usize| (f64::from(count(value)) - expected).powi(2) / expected;
        let chi: f64 = (0..256).map(off).sum();
        assert!(chi < CHI_SQUARE, "{subset:b}, byte {byte}: {chi}");
    }
}

/// The sum if one agent has another context than the others.
fn with_one_astray(
    network: &mut Network,
    context: &Context,
    astray: &Context,
) -> Result<Sum, NoSum> {
    let agents = network.names.len();
    let sent: Vec<Masked> = (0..agents)
        .map(|k| {
            let context = if k == 0 { astray } else { context };
            bare(context, k, vec![0; 40]).mask(&mut network.masks[k]).unwrap()
        })
        .collect();
    // Nothing cancels anywhere: forty words of which each is in range once in 2^15.
    let words = |i: usize| sent.iter().fold(0u64, |sum, one| sum.wrapping_add(one.words()[i]));
    let small = (0..40).filter(|i| (words(*i) as i64).unsigned_abs() < 1 << 48).count();
    assert!(small < 3, "{small} of 40 words cancel");
    Sum::of(context, sent.iter().map(Masked::words))
}

#[test]
fn another_transcript_point_or_noise_gives_words_that_cancel_nowhere() {
    let mut network = Network::new(5);
    let (transcript, members) = (network.transcript(), network.members());
    let context = network.context(Colluders::AtMost(1), 40);
    let query = context.query().clone();
    let turn =
        Turn { round: 1, attempt: 0, members: &members, purpose: "gradient", point: &[0.5, -1.0] };
    let again = transcript.context(&turn, query.clone()).unwrap();
    assert_eq!(again, context);
    let turns = [
        Turn { round: 2, ..turn },
        Turn { attempt: 1, ..turn },
        Turn { purpose: "hessian", ..turn },
        Turn { point: &[0.5, -1.0 + f64::EPSILON], ..turn },
        Turn { point: &[0.5], ..turn },
    ];
    let mut astray: Vec<Context> =
        turns.iter().map(|turn| transcript.context(turn, query.clone()).unwrap()).collect();
    // Another past.
    let elsewhere = Transcript::new(&Opening {
        network: NETWORK,
        program: "dzoa",
        roster: Some(network.roster.digest()),
        rows: &[3, 3, 3, 3, 4],
        colluders: Colluders::AtMost(1),
    });
    astray.push(context_of(&elsewhere, &members, Colluders::AtMost(1), 40));
    // Another noise.
    let louder = query.shares().query(query.region().clone(), 0.25).unwrap();
    astray.push(transcript.context(&turn, louder).unwrap());
    astray.push(context_of(&transcript, &members, Colluders::AtMost(2), 40));
    for other in astray {
        assert_ne!(other.id(), context.id());
        let refused = with_one_astray(&mut network, &context, &other);
        assert!(matches!(refused, Err(NoSum::MasksDoNotMatch { .. })), "{refused:?}");
    }
}

#[test]
fn another_roster_gives_words_that_cancel_nowhere() {
    let mut network = Network::new(4);
    let context = network.context(Colluders::AtMost(1), 40);
    // The first agent was shown another key of the last one.
    let origin = Origin { root: &[1; 32], agent: "agent-00003", rows: rows_of(3) };
    let mut keys: Vec<(String, [u8; 32])> =
        (0..4).map(|k| (network.names[k].clone(), network.roster.key(k))).collect();
    keys[3].1 = MaskKey::new(&origin, NETWORK).public();
    let shown = Roster::new(keys).unwrap();
    let first = Origin { root: &root_of(0), agent: "agent-00000", rows: rows_of(0) };
    network.masks[0] = Masks::new(MaskKey::new(&first, NETWORK), shown).unwrap();
    let refused = with_one_astray(&mut network, &context, &context);
    assert!(matches!(refused, Err(NoSum::MasksDoNotMatch { .. })));
}

#[test]
fn a_copied_key_would_hide_a_third_agent_all_the_same() {
    // The first of three announces the key of the last: the one between them shares one secret with
    // both, adds the words of the one pair and subtracts those of the other.
    let network = Network::new(3);
    let context = network.context(Colluders::AtMost(1), 40);
    let keys = [network.roster.key(2), network.roster.key(1), network.roster.key(2)];
    let copied = (0..3).map(|k| (network.names[k].clone(), keys[k]));
    assert!(Roster::new(copied.clone()).is_err(), "refused");
    let roster = Roster::unchecked(copied).unwrap();
    let origin = Origin { root: &root_of(1), agent: "agent-00001", rows: rows_of(1) };
    let mut masks = Masks::new(MaskKey::new(&origin, NETWORK), roster).unwrap();
    // Names and keys are in the derivation: the words differ, and nothing is in clear.
    let (first, last) = (masks.words_with(0, &context, 40), masks.words_with(2, &context, 40));
    assert!(first.iter().zip(&last).all(|(a, b)| a != b));
    let sent = bare(&context, 1, vec![0; 40]).mask(&mut masks).unwrap();
    assert!(sent.words().iter().all(|word| *word != 0));
}

#[test]
fn other_members_give_words_that_cancel_nowhere() {
    let mut network = Network::new(6);
    let everybody = network.context(Colluders::AtMost(1), 40);
    let left = network.members().without(&["agent-00005"]).unwrap();
    let context = context_of(&network.transcript(), &left, Colluders::AtMost(1), 40);
    let sent: Vec<Masked> = (0..5)
        .map(|k| {
            let context = if k == 0 { &everybody } else { &context };
            bare(context, k, vec![0; 40]).mask(&mut network.masks[k]).unwrap()
        })
        .collect();
    let refused = Sum::of(&context, sent.iter().map(Masked::words));
    assert!(matches!(refused, Err(NoSum::MasksDoNotMatch { .. })));
    // With everybody of the smaller set in it, all is well.
    let sent: Vec<Masked> = (0..5)
        .map(|k| bare(&context, k, vec![1; 40]).mask(&mut network.masks[k]).unwrap())
        .collect();
    assert_eq!(Sum::of(&context, sent.iter().map(Masked::words)).unwrap().steps(), [5; 40]);
}

#[test]
fn two_colluders_learn_the_honest_sum_with_the_remaining_shares_and_no_more() {
    const WORDS: usize = 64;
    let mut network = Network::new(5);
    let context = network.context(Colluders::AtMost(2), WORDS);
    let part = |k: usize| rows(k, WORDS);
    let shares: Vec<Share> = (0..5).map(|k| network.share(&context, k, &part(k))).collect();
    let honest_noise: Vec<i64> =
        (0..WORDS).map(|i| shares[..3].iter().map(|share| share.values()[i]).sum()).collect();
    let mut sent: Vec<Vec<u64>> = Vec::new();
    for (k, share) in shares.into_iter().enumerate() {
        sent.push(share.mask(&mut network.masks[k]).unwrap().words().to_vec());
    }
    // Agents 3 and 4 pool their pair keys: they take off what the honest share with them.
    for honest in 0..3 {
        for colluder in 3..5 {
            let words = network.masks[colluder].words_with(honest, &context, WORDS);
            // The honest one's name comes first: it added them.
            sent[honest].iter_mut().zip(words).for_each(|(w, mask)| *w = w.wrapping_sub(mask));
        }
    }
    let total = |i: usize| (0..3).fold(0u64, |sum, k| sum.wrapping_add(sent[k][i])) as i64;
    assert_eq!((0..WORDS).map(total).collect::<Vec<i64>>(), honest_noise);
    // Single contributions, and pairs of them, stay hidden: a word is in range once in 2^15.
    for subset in [&[0usize][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]] {
        let sum = |i: usize| subset.iter().fold(0u64, |sum, k| sum.wrapping_add(sent[*k][i]));
        let seen = (0..WORDS).filter(|i| (sum(*i) as i64).unsigned_abs() < 1 << 48).count();
        assert!(seen < 3, "{subset:?}: {seen}");
    }
    // Three shares of noise are what the event was charged for.
    let Event::JointSum { honest, multiples, .. } = context.event(0) else { unreachable!() };
    assert_eq!((honest, multiples), (3, 1));
}

#[test]
fn a_restart_gives_the_same_bytes_and_other_rows_or_contexts_fresh_noise() {
    let send = |context: &Context, rows: &[Vec<f64>]| {
        let mut network = Network::new(3);
        let share = network.share(context, 1, rows);
        let values: Vec<i64> = share.values().to_vec();
        (values, share.mask(&mut network.masks[1]).unwrap().words().clone())
    };
    let network = Network::new(3);
    let context = network.context(Colluders::AtMost(1), 8);
    let (values, words) = send(&context, &rows(1, 8));
    assert_eq!((values.clone(), words.clone()), send(&context, &rows(1, 8)), "the same bytes");
    let noise_of = |context: &Context, rows: &[Vec<f64>], values: &[i64]| -> Vec<i64> {
        let mut sum = Accumulator::new(context, 1);
        rows.iter().for_each(|row| sum.add(row).unwrap());
        let plain = sum.finish();
        values.iter().zip(plain.values.iter()).map(|(noisy, plain)| noisy - plain).collect()
    };
    let first = noise_of(&context, &rows(1, 8), &values);
    let other_context =
        context_of(&network.transcript(), &network.members(), Colluders::AtMost(0), 8);
    // One value moved by a hair: another grid vector, another noise.
    let mut nudged = rows(1, 8);
    nudged[2][7] += 1e-6;
    for (context, rows) in [(&context, nudged), (&other_context, rows(1, 8))] {
        let (values, others) = send(context, &rows);
        let noise = noise_of(context, &rows, &values);
        assert!(noise.iter().zip(&first).all(|(a, b)| a != b), "noise of its own");
        assert!(others.iter().zip(words.iter()).all(|(a, b)| a != b));
    }
}

#[test]
fn a_masked_sum_is_answered_once_and_its_charge_is_found_again() {
    let network = Network::new(3);
    let context = network.context(Colluders::AtMost(1), 2);
    let mut ledger = Ledger::default();
    let query = context.charge(0, RUN, "dzoa", &network.keys[0]);
    ledger.charge(query.clone()).unwrap();
    ledger.charge(query.clone()).unwrap();
    assert_eq!(ledger.charges().count(), 1, "the same sum again is no second charge");
    // From other rows, or by another program: two values under one mask.
    let origin = Origin { root: &root_of(0), agent: "agent-00000", rows: rows_of(99) };
    for other in [
        context.charge(0, RUN, "dzoa", &ShareKey::new(&origin)),
        context.charge(0, RUN, "another", &network.keys[0]),
        context.charge(0, [6; 16].into(), "dzoa", &network.keys[0]),
    ] {
        let refused = ledger.charge(other);
        assert!(
            matches!(refused, Err(crate::ChargeRefused::Answered { round: 1, .. })),
            "{refused:?}"
        );
    }
    // Without masks it is a release of its own, charged and noised as such.
    let open = network.context(Colluders::All, 2);
    for program in ["dzoa", "another"] {
        ledger.charge(open.charge(0, RUN, program, &network.keys[0])).unwrap();
    }
    assert_eq!(ledger.charges().count(), 3);
    // Replayed from its entries it refuses still.
    let header = crate::Header {
        ledger: crate::LEDGER_FORMAT,
        id: RUN,
        dataset: "rows".into(),
        budget: None,
    };
    let mut whole = Ledger::new(header.clone());
    whole.charge(query).unwrap();
    let text: Vec<String> =
        whole.entries().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    let entries = text.iter().map(|line| serde_json::from_str(line).unwrap());
    let mut replayed = Ledger::replay(header, entries).unwrap();
    assert!(replayed.charge(context.charge(0, RUN, "another", &network.keys[0])).is_err());
}

#[test]
fn a_share_needs_the_receipt_and_the_masks_of_its_own_sum() {
    let mut network = Network::new(3);
    let context = network.context(Colluders::AtMost(1), 2);
    let empty = |k: usize| Accumulator::new(&context, k).finish();
    // The receipt of another agent, of a plan, or of something else.
    let mut ledger = Ledger::default();
    let elsewhere = context_of(&network.transcript(), &network.members(), Colluders::AtMost(0), 2);
    for event in [
        elsewhere.event(0),
        context.query().event(0),
        Event::discrete_gaussian(1.0, 1.0, 2, 1),
        Event::Unprotected,
    ] {
        let receipt = ledger.charge(event.query(1)).unwrap();
        assert!(empty(0).share(receipt, &network.keys[0]).is_err(), "{event:?}");
    }
    let share =
        |network: &Network| empty(0).share(network.charged(&context, 0), &network.keys[0]).unwrap();
    let shares = [share(&network), share(&network), share(&network)];
    let [none, foreign, own] = shares;
    assert_eq!(none.mask(&mut Masks::none()).unwrap_err(), NoMasks::Missing);
    let refused = foreign.mask(&mut network.masks[1]).unwrap_err();
    assert_eq!(refused, NoMasks::Foreign("agent-00001".into()));
    assert!(own.mask(&mut network.masks[0]).is_ok());
    // A key that is not on the roster.
    let origin = Origin { root: &[1; 32], agent: "agent-00000", rows: rows_of(0) };
    let stranger = Masks::new(MaskKey::new(&origin, NETWORK), network.roster.clone());
    assert_eq!(stranger.unwrap_err(), NoMasks::NotOnRoster("agent-00000".into()));
}

#[test]
fn sealed_words_open_only_with_the_charge_that_paid_for_them() {
    let mut network = Network::new(3);
    let context = network.context(Colluders::AtMost(1), 2);
    let masked = network.share(&context, 0, &rows(0, 2)).mask(&mut network.masks[0]).unwrap();
    let text = serde_json::to_string(&masked.seal()).unwrap();
    let sealed: SealedWords = serde_json::from_str(&text).unwrap();
    assert_eq!(sealed.words(), masked.words());
    let other = Ledger::default().charge(Event::Unprotected.query(1)).unwrap();
    assert_eq!(sealed.clone().reopen(other), Err(BrokenSeal));
    assert_eq!(sealed.reopen(network.charged(&context, 0)), Ok(masked.clone()));
    // What travels is the words.
    let sent = serde_json::to_string(&masked).unwrap();
    assert_eq!(serde_json::from_str::<Words>(&sent).unwrap(), *masked.words());
}

#[test]
fn a_row_moves_the_sum_by_no_more_than_was_charged() {
    // Many rows of all kinds, one replaced: the largest move, with its rounding.
    let network = Network::new(2);
    let context = network.context(Colluders::AtMost(0), 3);
    let Event::JointSum { sensitivity, step, .. } = context.event(0) else { unreachable!() };
    let sum = |row: &[f64]| {
        let mut sum = Accumulator::new(&context, 0);
        for row in [&[0.7, -0.1, 0.2], &[f64::NAN, 1e300, -4.0], row] {
            sum.add(row).unwrap();
        }
        sum.finish().values.to_vec()
    };
    let mut rng = StdRng::seed_from_u64(7);
    let mut largest: f64 = 0.0;
    for _ in 0..20_000 {
        let a: [f64; 3] = std::array::from_fn(|_| rng.random_range(-3.0..3.0));
        let b = a.map(|x| -x * rng.random_range(0.9..1.1));
        let steps = sum(&a).into_iter().zip(sum(&b)).map(|(a, b)| ((a - b) as f64).powi(2));
        largest = largest.max(steps.sum::<f64>().sqrt() * step);
    }
    assert!(largest <= sensitivity, "{largest} {sensitivity}");
    assert!(largest >= 0.999 * sensitivity, "{largest} {sensitivity}: tight");
}

#[test]
fn a_share_has_the_noise_that_its_agent_is_charged_for() {
    const COORDINATES: usize = 2000;
    let network = Network::new(4);
    let silo = |rows: u64| Silo { rows, weight: 1.0 / rows as f64 };
    // Unequal silos draw several times; a billion rows want a coarser grid.
    let unequal = [303, 261, 46, 130].map(silo);
    let coarse = [silo(1_000_000_000); 4];
    for (silos, mu, fine) in [(unequal, 0.5, true), (coarse, 1.0, false)] {
        let shares = Shares::new(&silos, Colluders::AtMost(2)).unwrap();
        let query = shares.query(Region::ball(COORDINATES, 1.0).unwrap(), mu).unwrap();
        assert_eq!(query.log2_share() == 32, fine);
        let members = network.members();
        let turn = Turn { round: 1, attempt: 0, members: &members, purpose: "p", point: &[] };
        let context = network.transcript().context(&turn, query).unwrap();
        for k in 0..4 {
            let Event::JointSum { multiples, share, step, .. } = context.event(k) else {
                unreachable!()
            };
            let noise = network.share(&context, k, &[]);
            let squares = noise.values().iter().map(|x| (*x as f64 * step / share).powi(2));
            let found = squares.sum::<f64>() / COORDINATES as f64 / f64::from(multiples);
            // A chi-square of 2000 degrees: five and a half deviations, 1e-7 of the seeds.
            assert!((found - 1.0).abs() < 5.5 * (2.0 / COORDINATES as f64).sqrt(), "{k}: {found}");
            let mean = noise.values().iter().map(|x| *x as f64 * step / share).sum::<f64>();
            let error = (COORDINATES as f64 * f64::from(multiples)).sqrt();
            assert!(mean.abs() < 5.5 * error, "{k}: {mean}");
        }
    }
}

#[test]
fn threads_may_add_parts_and_rows_beyond_the_plan_are_refused() {
    let network = Network::new(2);
    let context = network.context(Colluders::AtMost(0), 3);
    let all = rows(0, 3);
    let sum_of = |rows: &[Vec<f64>]| {
        let mut sum = Accumulator::new(&context, 0);
        rows.iter().for_each(|row| sum.add(row).unwrap());
        sum
    };
    let mut halves = sum_of(&all[..1]);
    halves.absorb(sum_of(&all[1..])).unwrap();
    let whole = sum_of(&all).finish().values.to_vec();
    assert_eq!(halves.add(&[0.0; 3]), Err(BadRow::TooMany { rows: 3 }));
    assert_eq!(halves.absorb(sum_of(&all[..1])), Err(BadRow::TooMany { rows: 3 }));
    assert_eq!(halves.absorb(Accumulator::new(&context, 1)), Err(BadRow::OtherSum));
    let mut short = sum_of(&[]);
    assert_eq!(short.add(&[0.0; 2]), Err(BadRow::Length { got: 2, coordinates: 3 }));
    assert_eq!(halves.finish().values.to_vec(), whole);
}

#[test]
fn the_transcript_follows_the_words_of_the_sum() {
    let mut network = Network::new(3);
    let context = network.context(Colluders::AtMost(1), 2);
    let mut sum = |value: i64| {
        let sent: Vec<Masked> = (0..3)
            .map(|k| bare(&context, k, vec![value, 0]).mask(&mut network.masks[k]).unwrap())
            .collect();
        Sum::of(&context, sent.iter().map(Masked::words)).unwrap()
    };
    let (one, two) = (sum(1), sum(2));
    assert_eq!(context.follow(&one), context.follow(&one));
    assert_ne!(context.follow(&one), context.follow(&two));
    assert_eq!(one.values(), [3.0 * context.query().step(), 0.0]);
}

#[test]
fn contributions_of_others_are_counted_and_measured() {
    let network = Network::new(3);
    let context = network.context(Colluders::All, 2);
    let words = |n: usize| Words::from(vec![0; n]);
    let two = [words(2), words(2)];
    assert_eq!(Sum::of(&context, &two), Err(NoSum::Missing { got: 2, members: 3 }));
    let long = [words(2), words(3), words(2)];
    assert_eq!(Sum::of(&context, &long), Err(NoSum::Length { got: 3, coordinates: 2 }));
    let huge = [words(2), Words::from(vec![0, 1 << 62]), words(2)];
    let refused = Err(NoSum::MasksDoNotMatch { coordinate: 1 });
    assert_eq!(Sum::of(&context, &huge), refused);
}
