//! Neighbours that change what they pass on.

use crate::faults::in_the_middle;
use crate::world::{Protected, ROUNDS, World, certs, names, paper, path, spec};
use dzoa::joint::{Notice, Saying, SumPart};
use dzoa::privacy::Seen;
use dzoa::privacy::joint::Words;
use dzoa_node::certs::CertFiles;
use dzoa_node::journal::{self, DurableNotice, Journal, JournalRecord, Memory, RootPlace, Start};
use dzoa_node::letter::{Letter, Occasion};
use dzoa_node::node::{End, OnLoss, Running};
use dzoa_node::post::Post;
use dzoa_node::signing::Signer;
use dzoa_node::transport::Faults;
use dzoa_node::wire::{Body, Frame, Heard, Received, longest_letter};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::time::Duration;

/// What this agent would send next to that one if it said this.
fn lie(world: &World, from: usize, to: usize, body: Body) -> Vec<u8> {
    let record = world.network.record();
    let sent = record.iter().rev().find(|(k, l, _)| (*k, *l) == (from, to));
    let last = Frame::decode(&sent.unwrap().2, usize::MAX).unwrap();
    let Frame { network, program, from, to, round, needs, has, session, number, .. } = last;
    let Frame { echo, ledger, yours, .. } = last;
    let lie = Frame {
        network,
        program,
        from,
        to,
        round,
        needs,
        has,
        session,
        number,
        echo,
        ledger,
        yours,
        body,
    };
    lie.encode()
}

/// A word of agent k that it goes on without these, with its own signature under it.
fn gives_up(world: &World, k: usize, gone: Vec<usize>) -> Post {
    let agent = world.nodes[k].as_ref().unwrap().agent();
    let part = agent.heard(agent.position()).unwrap().clone();
    let notice = Notice { saying: Saying::Leave { gone: gone.clone() }, ..part };
    let mut journal = Journal::open(Box::new(Memory::default()), || Ok(first())).unwrap().journal;
    let durable = journal.commit_part(&JournalRecord::Leaving { gone }, notice).unwrap();
    let occasion = Occasion {
        network: [7; 32],
        roster: agent.roster().unwrap().digest().0,
        name: agent.name(),
    };
    let signer = Signer::new(&CertFiles::of(certs(), agent.name())).unwrap();
    Post::own(&durable, &occasion, &signer).unwrap()
}

fn first() -> Start {
    let root = RootPlace::Here([0; 32]);
    let (network, agent, rows) = ([7; 32], String::new(), String::new());
    Start { journal: journal::FORMAT, network, agent, rows, root, ledger: Default::default() }
}

/// One neighbour that says it, and one that signs it, end nobody's part: only so many signatures
/// that no sum can be taken without their writers.
#[test]
fn a_neighbour_that_says_others_went_on_without_an_agent_ends_nothing() {
    for liars in [1, 2] {
        let spec = spec("joint-gradient", Protected::Masks(1));
        let mut world = World::new(paper(), spec, Faults::default(), 1);
        world.on_loss = OnLoss::Continue;
        let expected = world.expected();
        let mut world = in_the_middle(world);
        let now = world.network.now();
        // Agent 1 has just said its part, and hears that it was left behind.
        let own = world.nodes[1].as_ref().unwrap().agent().position();
        let left = lie(&world, 0, 1, Body::left(3));
        world.nodes[1].as_mut().unwrap().receive(0, &left, now);
        for liar in [0, 2][..liars].iter().copied() {
            let signed = lie(&world, 0, 1, letter(gives_up(&world, liar, vec![own])));
            world.nodes[1].as_mut().unwrap().receive(0, &signed, now);
        }
        let refused = world.nodes[1].as_mut().unwrap().take_refusals();
        assert!(refused.iter().any(|no| no.what.contains("does not speak to everybody")));
        assert_eq!(world.nodes[1].as_ref().unwrap().end(), None, "{liars} liars");
        world.go_on();
        world.assert_finished(&expected, ROUNDS, &format!("{liars} liars"));
    }
}

/// Somebody with an agent's certificate and a ledger of his own was here before the agent itself:
/// nothing was charged yet, and so nothing is lost by listening to the one that stays.
#[test]
fn an_agent_is_heard_though_another_state_with_another_ledger_met_its_neighbour_first() {
    let mut alone = Alone::new();
    alone.ledger = 9;
    assert!(alone.says(Body::held(Heard::default())).is_empty());
    alone.ledger = 1;
    alone.session += 1;
    let (first, far) = (names(3)[0].clone(), names(3)[2].clone());
    assert_eq!(alone.says(letter(signed_by(&first, &first, hello(&first, 1)))), [""; 0]);
    assert_eq!(alone.says(letter(signed_by(&far, &far, hello(&far, 2)))), [""; 0]);
    assert_eq!(alone.world.nodes[1].as_ref().unwrap().agent().stage(), 1, "all have met");
    // All have said that they are ready: from here on the ledger stays the same.
    let node = alone.world.nodes[1].as_ref().unwrap();
    let ready = node.agent().heard(member(&names(3)[1])).unwrap().clone();
    for name in [&first, &far] {
        let ready = Notice { origin: member(name), ..ready.clone() };
        assert_eq!(alone.says(letter(signed_by(name, name, ready))), [""; 0]);
    }
    assert_eq!(alone.world.nodes[1].as_ref().unwrap().agent().stage(), 2, "all are ready");
    alone.ledger = 9;
    alone.session += 1;
    let refused = alone.says(Body::held(Heard::default()));
    let words = ["went backwards or was replaced", "it can go on only with the state"];
    assert!(words.iter().all(|words| refused[0].contains(words)), "{refused:?}");
}

/// A meeting in which the agent in the middle of a path is one process, and its neighbours are us.
struct Alone {
    world: World,
    number: u64,
    session: u64,
    ledger: u8,
}

/// Position among the members of a name.
fn member(name: &str) -> usize {
    let mut sorted = names(3);
    sorted.sort();
    sorted.iter().position(|known| known == name).unwrap()
}

fn hello(name: &str, key: u8) -> Notice {
    let saying = Saying::Hello { key: [key; 32], rows: 12 };
    Notice { origin: member(name), stage: 0, attempt: 0, id: Default::default(), saying }
}

fn letter(post: Post) -> Body {
    Body::letters(Heard::default(), vec![post])
}

/// A letter that this agent really signed.
fn signed_by(signer: &str, name: &str, notice: Notice) -> Post {
    let signer = Signer::new(&CertFiles::of(certs(), signer)).unwrap();
    let occasion = Occasion { network: [7; 32], roster: [0; 32], name };
    Post::own(&DurableNotice::public(notice).unwrap(), &occasion, &signer).unwrap()
}

impl Alone {
    fn new() -> Self {
        let spec = spec("joint-gradient", Protected::Masks(1));
        let mut world = World::new(path(3), spec, Faults::default(), 1);
        world.start(1).unwrap();
        world.step(1);
        Self { world, number: 1, session: 99, ledger: 1 }
    }

    /// Neighbour 0 says this. Returns what was refused.
    fn says(&mut self, body: Body) -> Vec<String> {
        self.number += 1;
        let ledger = Seen { ledger: [self.ledger; 16].into(), entries: 0, head: [0; 32].into() };
        let frame = Frame {
            network: [7; 32],
            program: "test".into(),
            from: names(3)[0].clone(),
            to: names(3)[1].clone(),
            round: 0,
            needs: 0,
            has: 0,
            session: self.session,
            number: self.number,
            echo: 1,
            ledger,
            yours: None,
            body,
        };
        let node = self.world.nodes[1].as_mut().unwrap();
        node.receive(0, &frame.encode(), Duration::ZERO);
        node.work(|| Duration::ZERO).unwrap();
        node.take_refusals().into_iter().map(|no| format!("{}: {}", no.from, no.what)).collect()
    }

    fn end(&self) -> Option<&End> {
        self.world.nodes[1].as_ref().unwrap().end()
    }
}

#[test]
fn honest_letters_are_taken_whoever_brings_them() {
    let mut alone = Alone::new();
    let (first, far) = (names(3)[0].clone(), names(3)[2].clone());
    let refused = alone.says(letter(signed_by(&first, &first, hello(&first, 1))));
    assert!(refused.is_empty(), "{refused:?}");
    let refused = alone.says(letter(signed_by(&far, &far, hello(&far, 2))));
    assert!(refused.is_empty(), "{refused:?}");
    assert!(alone.end().is_none());
    assert_eq!(alone.world.nodes[1].as_ref().unwrap().agent().stage(), 1, "all have met");
}

#[test]
fn a_letter_under_another_name_is_refused_with_the_bringers_name() {
    let mut alone = Alone::new();
    let (first, far) = (names(3)[0].clone(), names(3)[2].clone());
    // Neighbour 0 signs with its own key what the far agent is to have said.
    let forged = signed_by(&first, &far, hello(&far, 2));
    let refused = alone.says(letter(forged));
    let what = format!("{first}: it brought a letter of {far} with a certificate that");
    assert!(refused.len() == 1 && refused[0].starts_with(&what), "{refused:?}");
    // And so is what the far agent signed about somebody else.
    let moved = signed_by(&far, &far, hello(&first, 2));
    let refused = alone.says(letter(moved));
    assert!(refused.len() == 1 && refused[0].contains(&first), "{refused:?}");
    assert!(alone.end().is_none(), "a liar ends nothing");
}

#[test]
fn a_letter_for_another_network_is_refused() {
    let mut alone = Alone::new();
    let first = names(3)[0].clone();
    let signer = Signer::new(&CertFiles::of(certs(), &first)).unwrap();
    let occasion = Occasion { network: [8; 32], roster: [0; 32], name: &first };
    let durable = DurableNotice::public(hello(&first, 1)).unwrap();
    let post = Post::own(&durable, &occasion, &signer).unwrap();
    let refused = alone.says(letter(post));
    assert!(refused.len() == 1 && refused[0].contains("a signature that does not hold"));
}

/// A word that would begin a line of its own in a log, or move the cursor of a terminal.
#[test]
fn what_a_neighbour_says_stays_on_its_line() {
    let mut alone = Alone::new();
    alone.says(Body::bye("gone\n2026-11-18 WARN all rows were released\x1b[2J"));
    let Some(End::NeighbourLeft { reason, .. }) = alone.end() else { panic!("{:?}", alone.end()) };
    assert!(reason.starts_with("gone") && !reason.contains(char::is_control), "{reason:?}");
}

#[test]
fn two_different_hellos_end_the_run_with_the_name_of_their_writer() {
    let mut alone = Alone::new();
    let far = names(3)[2].clone();
    assert!(alone.says(letter(signed_by(&far, &far, hello(&far, 2)))).is_empty());
    // The same thing with another signature is nothing new.
    assert!(alone.says(letter(signed_by(&far, &far, hello(&far, 2)))).is_empty());
    assert!(alone.end().is_none());
    alone.says(letter(signed_by(&far, &far, hello(&far, 3))));
    let what = format!("{far} said two different things in stage 0");
    assert_eq!(alone.end(), Some(&End::Disagreed { what }));
    assert!(alone.world.charges(1).is_empty());
}

#[test]
fn another_roster_ends_the_run_before_anything_is_charged() {
    let mut alone = Alone::new();
    let (first, far) = (names(3)[0].clone(), names(3)[2].clone());
    alone.says(letter(signed_by(&first, &first, hello(&first, 1))));
    alone.says(letter(signed_by(&far, &far, hello(&far, 2))));
    let saying = Saying::Ready { roster: [6; 32].into() };
    let id = Default::default();
    let ready = Notice { origin: member(&far), stage: 1, attempt: 0, id, saying };
    alone.says(letter(signed_by(&far, &far, ready)));
    let Some(End::Disagreed { what }) = alone.end() else { panic!("{:?}", alone.end()) };
    assert!(what.starts_with(&format!("{far} has the roster 0606")), "{what}");
    assert!(alone.world.charges(1).is_empty());
}

#[test]
fn a_pinned_roster_that_is_another_one_ends_before_anything_is_charged() {
    let spec = spec("joint-gradient", Protected::Masks(1));
    let mut world = World::new(paper(), spec, Faults::default(), 1);
    world.pinned = Some([6; 32].into());
    world.start_all();
    world.run();
    for (k, end) in world.ends.iter().enumerate() {
        let said = format!("{:?}", end.as_ref().unwrap().0);
        assert!(said.contains("was asked for") || said.contains("NeighbourLeft"), "{said}");
        assert!(world.charges(k).is_empty());
    }
}

/// The last letter in a frame.
fn letter_in(frame: &[u8]) -> Option<Letter> {
    match Frame::decode(frame, usize::MAX).unwrap().body {
        Received::Letters { mut letters, .. } => letters.pop(),
        _ => None,
    }
}

/// All frames of a run whose words are changed on the way between two agents: refused with the
/// bringer's name, and everybody still ends with the right bits, because honest paths are left.
#[test]
fn words_that_are_changed_on_the_way_are_refused_and_change_nothing() {
    let spec = spec("joint-gradient", Protected::Masks(1));
    let mut world = World::new(paper(), spec, Faults::default(), 1);
    let expected = world.expected();
    world.start_all();
    (0..5).for_each(|k| world.step(k));
    let mut rng = StdRng::seed_from_u64(1);
    let mut refused = 0;
    while world.ends.iter().any(Option::is_none) {
        let k = world.event().unwrap();
        // Agent 1 gets a changed copy of everything that agent 0 ever sent it.
        let sent = world.network.record();
        let frames = sent.iter().rev().find(|(from, to, _)| (*from, *to) == (0, 1));
        let letter = frames.and_then(|(_, _, frame)| Some((frame, letter_in(frame)?)));
        if let (Some((frame, letter)), Some(node)) = (letter, &mut world.nodes[1]) {
            let mut bytes = frame[..frame.len() - 4].to_vec();
            // It is the last thing in a frame.
            let length = postcard::to_stdvec(&letter).unwrap().len();
            let at = rng.random_range(bytes.len() - length..bytes.len());
            bytes[at] ^= 1 << rng.random_range(0..8);
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            node.receive(0, &bytes, world.network.now());
            refused += node.take_refusals().iter().filter(|no| no.from == names(5)[0]).count();
        }
        world.step(k);
    }
    assert!(refused > 5, "{refused}");
    for (end, bits) in world.ends.iter().flatten() {
        assert_eq!((end, bits), (&End::Agent(dzoa::Status::Finished), &expected));
    }
}

/// 100,000 inputs near a frame with a letter: no panic, and nothing is taken.
#[test]
fn arbitrary_letters_are_refused_without_a_panic() {
    let mut rng = StdRng::seed_from_u64(2);
    let spec = spec("joint-gradient", Protected::Masks(1));
    let mut world = World::new(path(3), spec, Faults::default(), 1);
    world.start_all();
    world.run();
    let record = world.network.record();
    let honest: Vec<&Vec<u8>> = record.iter().map(|(_, _, frame)| frame).collect();
    let limit = longest_letter(3, 6);
    let mut letters = 0;
    for _ in 0..100_000 {
        let frame = honest[rng.random_range(0..honest.len())];
        let mut bytes = frame[..frame.len() - 4].to_vec();
        for _ in 0..rng.random_range(1..8) {
            let at = rng.random_range(5..bytes.len());
            bytes[at] = rng.random();
        }
        if rng.random_bool(0.3) {
            bytes.truncate(rng.random_range(5..=bytes.len()));
        }
        if rng.random_bool(0.1) {
            let mut more = [0; 16];
            rng.fill_bytes(&mut more);
            bytes.extend(more);
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let Ok(Frame { body: Received::Letters { letters: read, .. }, .. }) =
            Frame::decode(&bytes, limit)
        else {
            continue;
        };
        letters += read.len();
        for letter in read {
            if let Saying::Part(SumPart::Words(words)) = letter.notice().saying {
                assert!(words.len() <= bytes.len() / 8, "{}", Words::from(words.to_vec()).len());
            }
        }
    }
    assert!(letters > 100, "{letters}");
}
