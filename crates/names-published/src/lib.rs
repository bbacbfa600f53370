//! Published designs of name caches, for comparison: [`AsyncLru`] (SYSTEMS.md section 2), [`Regions`]
//! (section 3) and [`Optimiser`] (the DNS optimiser of section 5).
//!
//! Each is a [`NameCache`](lycosa_names::cache::NameCache) in the memory of one process. A job's setting
//! `names.cache` selects one of them or the default, the compact cache of `lycosa_names`.

mod async_lru;
mod kept;
mod optimiser;
mod regions;

pub use async_lru::{AsyncLru, AsyncLruSettings};
pub use optimiser::{Optimiser, OptimiserSettings};
pub use regions::{Levels, Regions, RegionsSettings, Weight, Worth};
