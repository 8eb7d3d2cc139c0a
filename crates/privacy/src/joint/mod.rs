//! Joint sums: the accuracy of a trusted curator, and no curator.

mod diameter;
mod fields;
mod query;
mod region;
mod shares;

pub use diameter::{Enclosing, diameter, enclosing};
pub use query::{JointQuery, NoGrid};
pub use region::{NoRegion, Region};
pub use shares::{MOST_DRAWS, NoShares, Shares, Silo, variances};
