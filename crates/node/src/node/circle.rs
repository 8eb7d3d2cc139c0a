//! An agent's neighbours, whatever it says to them: who they are, what is known of their ledgers,
//! what is refused, and what is on its way to them.

use super::background::Background;
use super::{NodeError, NodeSettings, Peer, PersistEntry, Refusal, Stats};
use crate::wire::{Body, Frame, Received, plain};
use dzoa::privacy::{Entry, Ledger, LedgerRecord, RunId, Seen};
use std::time::Duration;

/// The part of its time that an agent which is over stays where nobody comes.
const UNMET: u32 = 10;

/// The neighbours of one agent.
pub(crate) struct Circle {
    pub(crate) name: String,
    pub(crate) settings: NodeSettings,
    pub(crate) peers: Vec<Peer>,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) stats: Stats,
    /// The ledger as far as it is durable: what neighbours may be told.
    pub(crate) durable: Seen,
    /// The ledger. A charge that is only there is found again by the round that is computed again,
    /// and one that is only in the journal is told to the ledger at the next start: so both wait
    /// for the disk at one time.
    pub(crate) ledger_writer: Background<Entry>,
    pub(crate) outgoing: Vec<(usize, Vec<u8>)>,
}

/// Where the agent stands, as a frame says it.
#[derive(Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) round: u64,
    pub(crate) needs: u64,
}

impl Circle {
    pub(crate) fn new(
        name: &str,
        neighbours: &[usize],
        settings: NodeSettings,
        mut persist_entry: PersistEntry,
        now: Duration,
    ) -> Self {
        let peers = neighbours.iter().map(|&index| {
            let name = settings.names.get(index).cloned().unwrap_or_default();
            Peer::new(index, name, now)
        });
        Self {
            name: name.into(),
            peers: peers.collect(),
            settings,
            refusals: Vec::new(),
            stats: Stats::default(),
            durable: Seen { ledger: RunId::default(), entries: 0, head: Default::default() },
            ledger_writer: Background::new(move |entry| persist_entry(&entry)),
            outgoing: Vec::new(),
        }
    }

    /// Returns once the ledger is durable.
    pub(crate) fn persist_ledger(&mut self, ledger: &Ledger) -> Result<(), NodeError> {
        self.ledger_writer.finish().map_err(NodeError::Ledger)?;
        self.durable = ledger.seen();
        Ok(())
    }

    /// Refuses a journal and a ledger of which one is older than the other. A crash explains one
    /// round that only one of the two has: they are written at the same time, and nothing is sent
    /// before both are done.
    pub(crate) fn agree_with_ledger(
        &mut self,
        journal: u64,
        ledger: &Ledger,
        run: RunId,
        unwritten: Vec<Entry>,
    ) -> Result<(), NodeError> {
        let charged = ledger.last_round(run);
        if charged > journal + 1 {
            return Err(NodeError::JournalBehind { journal, ledger: charged });
        }
        let rounds = unwritten.iter().filter_map(|entry| match &entry.record {
            LedgerRecord::Charge(charge) => Some(charge.round),
            _ => None,
        });
        let rounds: Vec<u64> = rounds.collect();
        if rounds.len() > 1 || rounds.iter().any(|round| *round != journal) {
            return Err(NodeError::LedgerBehind { missing: rounds.len() });
        }
        unwritten.into_iter().for_each(|entry| self.ledger_writer.begin(entry));
        self.persist_ledger(ledger)
    }

    /// Bytes that the transport says are from this neighbour, as a frame of this network. Counts
    /// them, and refuses what is none.
    pub(crate) fn read(
        &mut self,
        from: usize,
        bytes: &[u8],
        limit: usize,
    ) -> Option<(usize, Frame<Received>)> {
        self.stats.received.0 += 1;
        self.stats.received.1 += bytes.len() as u64;
        let Some(position) = self.peers.iter().position(|peer| peer.index == from) else {
            let name = self.settings.names.get(from).cloned().unwrap_or_default();
            self.refuse(name, "it is no neighbour".into(), bytes);
            return None;
        };
        let name = self.peers[position].name.clone();
        let frame = match Frame::decode(bytes, limit) {
            Ok(frame) => frame,
            Err(error) => {
                self.refuse(name, error.to_string(), bytes);
                return None;
            }
        };
        if let Some(what) = self.difference(&frame, &name) {
            self.refuse(name, what, bytes);
            return None;
        }
        Some((position, frame))
    }

    /// What the neighbour has otherwise than we do.
    fn difference(&self, frame: &Frame<Received>, name: &str) -> Option<String> {
        let NodeSettings { network, program, names, .. } = &self.settings;
        let hex = |digest: &[u8; 32]| blake3::Hash::from(*digest).to_hex()[..16].to_string();
        if frame.network != *network {
            return Some(format!(
                "its network file has the digest {}, ours {}",
                hex(&frame.network),
                hex(network)
            ));
        }
        if frame.program != *program {
            return Some(format!("it runs version {}, we {program}", plain(&frame.program)));
        }
        let ours = &self.name;
        if frame.from != name || frame.to != *ours || !names.contains(&frame.from) {
            return Some(format!(
                "it came over the link from {name} to {ours}, but says from {} to {}",
                plain(&frame.from),
                plain(&frame.to)
            ));
        }
        None
    }

    pub(crate) fn refuse(&mut self, from: String, what: String, bytes: &[u8]) {
        /// Refusals that wait until somebody fetches them, and bytes of each.
        const MOST: usize = 1000;
        const EVIDENCE: usize = 1 << 11;
        self.stats.refused += 1;
        if self.refusals.len() < MOST {
            let frame = bytes[..bytes.len().min(EVIDENCE)].to_vec();
            self.refusals.push(Refusal { from, what, frame, length: bytes.len() });
        }
    }

    pub(crate) fn say(&mut self, position: usize, standing: Standing, body: Body) {
        let peer = &self.peers[position];
        let frame = Frame {
            network: self.settings.network,
            program: self.settings.program.clone(),
            from: self.name.clone(),
            to: peer.name.clone(),
            round: standing.round,
            needs: standing.needs,
            has: peer.has,
            session: self.settings.session,
            number: self.stats.sent.0,
            echo: peer.session,
            ledger: self.durable,
            yours: peer.seen,
            body,
        };
        let bytes = frame.encode();
        self.stats.sent.0 += 1;
        self.stats.sent.1 += bytes.len() as u64;
        self.outgoing.push((peer.index, bytes));
    }

    /// Whether an agent that is over since then has stayed long enough for neighbours that do not
    /// say they have everything. Where none of them came since this process began, they have left.
    pub(crate) fn has_stayed(&self, since: Duration, now: Duration) -> bool {
        let linger = match self.peers.iter().any(|peer| peer.met) {
            true => self.settings.linger,
            false => self.settings.linger / UNMET,
        };
        now >= since + linger
    }

    /// How far the neighbours' ledgers were seen, where the journal does not say so yet.
    pub(crate) fn news(&mut self) -> Vec<(usize, Seen)> {
        let news = self.peers.iter_mut().filter_map(|peer| Some((peer.index, peer.news()?)));
        news.collect()
    }

    /// What the journal says of the neighbours' ledgers.
    pub(crate) fn recall(&mut self, news: Vec<(usize, Seen)>) -> Result<(), NodeError> {
        for (index, seen) in news {
            let peer = self.peers.iter_mut().find(|peer| peer.index == index);
            peer.map(|peer| peer.recall(seen)).ok_or(NodeError::Order(0))?;
        }
        Ok(())
    }
}
