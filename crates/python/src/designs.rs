//! The published caches of names by the words of a job (`names.cache`, `docs/name-caches.md`).

use lycosa_names::cache::{NameCache, Seconds};
use lycosa_names_published::{
    AsyncLru, AsyncLruSettings, Levels, Optimiser, OptimiserSettings, Regions, RegionsSettings, Weight,
};
use pyo3::prelude::*;

use crate::errors::setting;

/// What a name of `regions` is worth: by a word, or by the powers of its parameters.
#[derive(FromPyObject)]
pub(crate) enum WeightSetting {
    Word(String),
    Powers {
        #[pyo3(item)]
        time: f64,
        #[pyo3(item)]
        ttl: f64,
        #[pyo3(item)]
        recency: f64,
    },
}

impl WeightSetting {
    /// As `regions` takes it.
    fn weight(&self) -> PyResult<Weight> {
        match self {
            WeightSetting::Word(word) => match &**word {
                "cost" => Ok(Weight::COST),
                "time" => Ok(Weight::TIME),
                "recency" => Ok(Weight::RECENCY),
                other => Err(setting("names.weight", other, "cost, time, recency or a table of powers")),
            },
            &WeightSetting::Powers { time, ttl, recency } => Ok(Weight { time, ttl, recency }),
        }
    }
}

/// A design and what it is told; `None` is what its publication gives.
pub(crate) struct Design<'j> {
    /// `async-lru`, `regions` or `optimiser`.
    pub(crate) name: &'j str,
    /// Names.
    pub(crate) capacity: Option<usize>,
    /// Milliseconds from which on a name counts as slow.
    pub(crate) slow: u32,
    /// Of the hash table of `async-lru`.
    pub(crate) buckets: Option<usize>,
    /// Seconds: that an answer holds, after which light names go, or after which names are resolved again.
    pub(crate) period: Option<Seconds>,
    /// What makes a level of `regions`.
    pub(crate) levels: Option<&'j str>,
    /// What a name of `regions` is worth.
    pub(crate) weight: Option<&'j WeightSetting>,
    /// The weight below which names of `regions` go.
    pub(crate) light: Option<f64>,
}

impl<'j> Design<'j> {
    /// An empty cache of the design, with its name.
    ///
    /// # Errors
    ///
    /// A word that is not known: which, and what is allowed.
    pub(crate) fn open(&self) -> PyResult<(Box<dyn NameCache>, &'static str)> {
        Ok(match self.name {
            "async-lru" => (Box::new(AsyncLru::new(self.async_lru())), "async-lru"),
            "regions" => (Box::new(Regions::new(self.regions()?)), "regions"),
            "optimiser" => (Box::new(Optimiser::new(self.optimiser())), "optimiser"),
            other => return Err(setting("names.cache", other, "compact, async-lru, regions or optimiser")),
        })
    }

    /// As `async-lru` takes it. There are as many buckets to a name as published unless told otherwise.
    fn async_lru(&self) -> AsyncLruSettings {
        let published = AsyncLruSettings::default();
        let capacity = self.capacity.map_or(published.capacity, within);
        let share =
            |capacity: usize| capacity as u128 * published.buckets as u128 / published.capacity as u128;
        let buckets = self.buckets.unwrap_or_else(|| (share(capacity) as usize).max(1));
        AsyncLruSettings {
            capacity,
            buckets,
            period: self.period.unwrap_or(published.period),
            slow: self.slow,
        }
    }

    /// As `regions` takes it: its three parts share the capacity as they do by default.
    fn regions(&self) -> PyResult<RegionsSettings> {
        let published = RegionsSettings::default();
        let all = published.deeper + published.hosts + published.reverse;
        let share = |part: usize| {
            self.capacity
                .map_or(part, |capacity| within((part as u128 * capacity as u128 / all as u128) as usize))
        };
        let levels = match self.levels {
            None | Some("public-suffix") => Levels::PublicSuffix,
            Some("dots") => Levels::Dots,
            Some(other) => return Err(setting("names.levels", other, "public-suffix or dots")),
        };
        let weight = self.weight.map(WeightSetting::weight).transpose()?;
        Ok(RegionsSettings {
            levels,
            slow: self.slow,
            deeper: share(published.deeper),
            hosts: share(published.hosts),
            reverse: share(published.reverse),
            light: self.light.unwrap_or(published.light),
            period: self.period.unwrap_or(published.period),
            weight: weight.unwrap_or(published.weight),
        })
    }

    /// As the optimiser takes it.
    fn optimiser(&self) -> OptimiserSettings {
        let published = OptimiserSettings::default();
        let capacity = self.capacity.map_or(published.capacity, within);
        OptimiserSettings { capacity, refresh: self.period.unwrap_or(published.refresh), slow: self.slow }
    }
}

/// A number of names that a design can have.
fn within(capacity: usize) -> usize {
    capacity.clamp(8, 1 << 30)
}
