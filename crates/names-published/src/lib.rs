//! The published caches of names, for comparison and for who wants to see what they are worth: [`AsyncLru`] (SYSTEMS.md section 2),
//! [`Regions`] (section 3) and [`Optimiser`] (the DNS optimiser of section 5).
//!
//! Each one is a [`NameCache`](lycosa_names::cache::NameCache) in the memory of one process; `names.cache` of a job chooses among them
//! and the compact cache of `lycosa_names`, which is the default.

mod async_lru;
mod kept;
mod optimiser;
mod regions;

pub use async_lru::{AsyncLru, AsyncLruSettings};
pub use optimiser::{Optimiser, OptimiserSettings};
pub use regions::{Levels, Regions, RegionsSettings, Weight, Worth};
