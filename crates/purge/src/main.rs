//! The purge as a Lambda.

fn main() {}
