//! Settings of a cache, as Python gives them.

use std::path::PathBuf;

use lycosa_names::cache::SLOW;
use lycosa_names::cache::compact::{CompactSettings, Negative, Verify};
use pyo3::prelude::*;

use crate::designs::{Design, WeightSetting};
use crate::errors::setting;
use crate::job::{millis, period};

/// Settings of the compact cache as Python gives them; `None` is the default.
#[derive(FromPyObject)]
pub(crate) struct CacheSettings {
    #[pyo3(item, default)]
    pub(super) path: Option<PathBuf>,
    #[pyo3(item)]
    capacity: Option<u64>,
    #[pyo3(item, default)]
    verify: Option<String>,
    #[pyo3(item, default)]
    negative: Option<String>,
    #[pyo3(item, default)]
    negative_capacity: Option<u64>,
    #[pyo3(item, default)]
    false_positives: Option<f64>,
    #[pyo3(item, default)]
    negative_ttl: Option<u32>,
    #[pyo3(item, default)]
    min_ttl: Option<u32>,
    #[pyo3(item, default)]
    max_ttl: Option<u32>,
    /// Seconds.
    #[pyo3(item, default)]
    slow: Option<f64>,
    #[pyo3(item, default)]
    buckets: Option<usize>,
    /// Seconds.
    #[pyo3(item, default)]
    period: Option<f64>,
    #[pyo3(item, default)]
    levels: Option<String>,
    #[pyo3(item, default)]
    weight: Option<WeightSetting>,
    #[pyo3(item, default)]
    light: Option<f64>,
}

impl CacheSettings {
    /// As the cache takes them.
    pub(super) fn compact(&self) -> PyResult<CompactSettings> {
        let mut settings = CompactSettings::default();
        settings.capacity = self.capacity.unwrap_or(settings.capacity);
        settings.verify = verify(self.verify.as_deref())?;
        settings.negative = negative(self.negative.as_deref())?;
        settings.negative_capacity = self.negative_capacity.or(settings.negative_capacity);
        settings.false_positives = self.false_positives.unwrap_or(settings.false_positives);
        settings.negative_ttl = self.negative_ttl.unwrap_or(settings.negative_ttl);
        settings.max_ttl = self.max_ttl.unwrap_or(settings.max_ttl);
        settings.min_ttl = self.min_ttl.unwrap_or(settings.min_ttl.min(settings.max_ttl));
        settings.slow = self.slow.map_or(settings.slow, millis);
        Ok(settings)
    }

    /// As a published design takes them.
    pub(super) fn published<'j>(&'j self, name: &'j str) -> Design<'j> {
        Design {
            name,
            capacity: self.capacity.map(|capacity| usize::try_from(capacity).unwrap_or(usize::MAX)),
            slow: self.slow.map_or(SLOW, millis),
            buckets: self.buckets,
            period: self.period.map(period),
            levels: self.levels.as_deref(),
            weight: self.weight.as_ref(),
            light: self.light,
        }
    }
}

/// By what names are told apart, by its word; `None` is the default.
pub(crate) fn verify(word: Option<&str>) -> PyResult<Verify> {
    match word {
        None | Some("keyed") => Ok(Verify::Keyed),
        Some("published") => Ok(Verify::Published),
        Some(other) => Err(setting("verify", other, "keyed or published")),
    }
}

/// How names that do not resolve are kept, by its word; `None` is the default.
pub(crate) fn negative(word: Option<&str>) -> PyResult<Negative> {
    match word {
        None | Some("generations") => Ok(Negative::Generations(4)),
        Some("clear-all") => Ok(Negative::ClearAll),
        Some(other) => Err(setting("negative", other, "generations or clear-all")),
    }
}
