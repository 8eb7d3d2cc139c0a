//! One file per command.

pub mod agent;
pub mod audit;
pub mod certs;
pub mod check;
pub mod compare;
pub mod init;
pub mod launch;
pub mod ledger;
pub mod predict;
pub mod privacy;
pub mod report;
pub mod reproduce;
pub mod run;
