//! Other algorithms, to compare with. One file each.

pub mod dp_gd;
