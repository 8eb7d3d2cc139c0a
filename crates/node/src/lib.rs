//! Agents as separate processes: the only place of dzoa with sockets, a clock and `fsync`.
//!
//! [`node::Node`] performs the outputs of a [`dzoa::agent::Agent`] in order and repeats to its
//! neighbours what they miss; it knows neither socket nor clock. [`journal`] is what it must not
//! forget, [`wire`] what it says, [`transport::Transport`] how that travels, and [`drive`] moves
//! frames between the two. [`joint::JointNode`] is an agent that speaks to everybody: its
//! neighbours pass on what it says.

pub mod certs;
pub mod drive;
pub mod joint;
pub mod journal;
pub mod letter;
pub mod node;
pub mod post;
pub mod replay;
pub mod signing;
pub mod transport;
pub mod wire;
