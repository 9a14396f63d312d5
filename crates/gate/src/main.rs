//! The gate as a Lambda.

fn main() {}
