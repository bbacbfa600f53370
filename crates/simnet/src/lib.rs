//! simnet.
