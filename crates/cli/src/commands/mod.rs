//! One file per command.

pub mod audit;
pub mod check;
pub mod compare;
pub mod demo;
pub mod init;
pub mod ledger;
pub mod predict;
pub mod privacy;
pub mod report;
pub mod reproduce;
pub mod run;
