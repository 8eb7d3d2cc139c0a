//! Agents as separate processes: the only place of dzoa with sockets, a clock and `fsync`.
//!
//! [`node::Node`] performs the outputs of a [`dzoa::agent::Agent`] in order and keeps its neighbours up to
//! date; it knows neither socket nor clock. [`journal`] is what it must not forget, [`wire`] what it says,
//! [`transport::Transport`] how that travels, and [`drive`] moves frames between the two.

mod aside;
pub mod certs;
pub mod drive;
mod greeting;
pub mod journal;
pub mod memory;
pub mod node;
pub mod peer;
pub mod replay;
pub mod seal;
mod terms;
pub mod transport;
mod view;
pub mod wire;
pub mod zenoh_link;
