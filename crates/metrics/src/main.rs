//! The metrics as a Lambda.

fn main() {}
