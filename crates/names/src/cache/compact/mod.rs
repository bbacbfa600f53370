//! compact.

mod bucket;
mod memory;
#[cfg(test)]
mod model_tests;
mod sets;
mod slot;
