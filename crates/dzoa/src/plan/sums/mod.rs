//! What can be asked for about joint sums: the algorithms, the mechanism that protects them, and
//! the public rules that choose their numbers.

mod noise;
mod registry;
pub mod rules;

pub use noise::JointNoise;
pub use registry::{JOINT, JointBudget, JointEntry, JointMaking};
