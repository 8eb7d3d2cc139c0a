//! What joint sums are taken about, and what each agent keeps secret for them.

use crate::joint::Secrets;
use crate::network::Graph;
use crate::plan::data::Data;
use crate::plan::spec::RunSpec;
use crate::streams::Streams;
use dzoa_privacy::Digest;
use dzoa_privacy::joint::Origin;

/// What is asked for, the data and the network. Over a network only the agent's own place in the
/// data holds rows.
#[derive(Clone, Copy)]
pub struct JointStudy<'a> {
    /// What is asked for.
    pub spec: &'a RunSpec,
    /// Rows or boxes.
    pub data: &'a Data,
    /// The network.
    pub graph: &'a Graph,
}

impl JointStudy<'_> {
    /// What agent k keeps secret, from the root of its streams. Its public key goes to the others
    /// before their numbers of rows are known, so nothing here depends on those.
    pub fn secrets(&self, k: usize, streams: &Streams) -> Secrets {
        self.secrets_in(self.network(), k, streams)
    }

    /// The same, for whoever asks for many and knows the network's digest.
    pub(super) fn secrets_in(&self, network: Digest, k: usize, streams: &Streams) -> Secrets {
        let name = &self.graph.names()[k];
        let root = streams.key();
        let rows = match self.data {
            // How much a row weighs is public, and a part of what is agreed on.
            Data::Rows(problem) => problem.unweighed_fingerprint(k),
            Data::Boxes(_) => Digest::default(),
        };
        let origin = Origin { root: &root, agent: name, rows };
        Secrets::new(&origin, network, streams.noise_key(name))
    }

    /// A digest of what is known of the network before its agents meet.
    pub(super) fn network(&self) -> Digest {
        let mut hasher = blake3::Hasher::new_derive_key("dzoa 2026 joint network");
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        field(self.spec.algorithm.name().as_bytes());
        self.graph.names().iter().for_each(|name| field(name.as_bytes()));
        for (a, b) in self.graph.edges() {
            field(&(a as u64).to_le_bytes());
            field(&(b as u64).to_le_bytes());
        }
        Digest::from(*hasher.finalize().as_bytes())
    }
}
