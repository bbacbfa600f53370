//! compact.

mod bucket;
mod error;
mod filter;
mod header;
mod key;
mod layout;
mod map;
mod memory;
#[cfg(test)]
mod model_tests;
mod roster;
mod sets;
mod settings;
mod slot;
mod table;
