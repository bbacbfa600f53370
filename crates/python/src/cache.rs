//! Caches of names, of all designs, for Python programs and operators.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use lycosa_names::cache::compact::{CompactCache, KeyRange, Verify};
use lycosa_names::cache::{self, Resolution, Seconds};
use lycosa_names::{BadName, Families, HostName};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;

use self::answers::Told;
use self::entry::{Entry, Outcome};
use self::settings::CacheSettings;
use crate::errors::{bad_name, setting, storage};

mod answers;
mod entry;
mod fallback;
mod settings;

pub(crate) use self::answers::{NameAnswer, NameAnswers};
pub(crate) use self::fallback::{Fallback, refused, watch};
pub(crate) use self::settings::{negative, verify};

/// A cache of names of one of the designs.
#[pyclass(frozen, subclass, module = "lycosa._core")]
pub(crate) struct NameCache {
    inner: Inner,
    bad_names: std::sync::atomic::AtomicU64,
}

/// The compact cache is shared without a lock; the others are one process's.
enum Inner {
    Compact(Box<CompactCache>),
    Other(std::sync::Mutex<Box<dyn cache::NameCache>>, &'static str),
}

/// The longest TTL (RFC 2181 section 8).
const MAX_TTL: i64 = (1 << 31) - 1;

#[pymethods]
impl NameCache {
    #[new]
    fn new(py: Python<'_>, design: &str, settings: CacheSettings) -> PyResult<Self> {
        let inner = match design {
            "compact" => {
                let compact = settings.compact()?;
                let opened = py.detach(|| match &settings.path {
                    Some(path) => CompactCache::open(path, compact, now()),
                    None => CompactCache::in_memory(compact, now(), None),
                });
                let opened = opened.map_err(|error| refused(&error))?;
                watch(&opened);
                Inner::Compact(Box::new(opened))
            }
            name => {
                let (cache, name) = settings.published(name).open()?;
                Inner::Other(std::sync::Mutex::new(cache), name)
            }
        };
        Ok(NameCache { inner, bad_names: Default::default() })
    }

    /// Opens the file of a compact cache as it was made.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened =
            py.detach(|| CompactCache::open_as_made(&path, now())).map_err(|error| refused(&error))?;
        watch(&opened);
        Ok(NameCache { inner: Inner::Compact(Box::new(opened)), bad_names: Default::default() })
    }

    /// A view of the file of a compact cache, which does not change it.
    #[staticmethod]
    fn view(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| CompactCache::view(&path)).map_err(|error| refused(&error))?;
        Ok(NameCache { inner: Inner::Compact(Box::new(opened)), bad_names: Default::default() })
    }

    /// Puts an empty compact cache in the place of a file.
    #[staticmethod]
    fn rebuild(py: Python<'_>, path: PathBuf, settings: CacheSettings) -> PyResult<Self> {
        let compact = settings.compact()?;
        let made =
            py.detach(|| CompactCache::rebuild(&path, compact, now())).map_err(|error| refused(&error))?;
        watch(&made);
        Ok(NameCache { inner: Inner::Compact(Box::new(made)), bad_names: Default::default() })
    }

    /// The name of the design.
    #[getter]
    fn design(&self) -> &'static str {
        match &self.inner {
            Inner::Compact(_) => "compact",
            Inner::Other(_, name) => name,
        }
    }

    /// How a compact cache was made.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = PyDict::new(py);
        if let Inner::Compact(cache) = &self.inner {
            let settings = cache.settings();
            made.set_item("capacity", settings.capacity)?;
            made.set_item("verify", if settings.verify == Verify::Keyed { "keyed" } else { "published" })?;
            made.set_item("min_ttl", settings.min_ttl)?;
            made.set_item("max_ttl", settings.max_ttl)?;
        }
        Ok(made)
    }

    /// Why it is not in the file that was asked for.
    #[getter]
    fn fallen_back(&self) -> Option<String> {
        match &self.inner {
            Inner::Compact(cache) => Fallback::of(cache).why(),
            Inner::Other(..) => None,
        }
    }

    /// What is known of a name.
    #[pyo3(signature = (name, *, families = "v4", bypass = false, now = None))]
    fn get(
        &self,
        name: &str,
        families: &str,
        bypass: bool,
        now: Option<Seconds>,
    ) -> PyResult<Option<NameAnswer>> {
        let (families, now) = (crate::job::families(families)?, now.unwrap_or_else(self::now));
        let mut buffer = String::new();
        let name = HostName::normalize(name, &mut buffer).map_err(|why| self.refuse(name, why))?;
        Ok(match &self.inner {
            Inner::Compact(cache) if bypass => cache.get_past_filter(name, families, now).map(Told::Record),
            Inner::Compact(cache) => cache.get(name, families, now).map(Told::Record),
            Inner::Other(cache, _) => crate::errors::lock(cache)
                .lookup(name, families, now)
                .map(|found| Told::Found(Box::new(found))),
        }
        .map(NameAnswer))
    }

    /// What is known of many names.
    #[pyo3(signature = (names, *, families = "v4", now = None))]
    fn get_many(
        &self,
        py: Python<'_>,
        names: Vec<PyBackedStr>,
        families: &str,
        now: Option<Seconds>,
    ) -> PyResult<NameAnswers> {
        let (families, now) = (crate::job::families(families)?, now.unwrap_or_else(self::now));
        Ok(py.detach(|| {
            let mut answers = vec![None; names.len()];
            let mut take = |place: usize, found: Result<Option<Told>, BadName>| {
                answers[place] = match found {
                    Ok(told) => told.map(NameAnswer),
                    Err(bad) => {
                        self.count_bad();
                        Some(NameAnswer(Told::Bad(bad)))
                    }
                };
            };
            match &self.inner {
                Inner::Compact(cache) => {
                    let texts: Vec<&str> = names.iter().map(|name| &**name).collect();
                    cache.get_texts(&texts, families, now, |place, found| {
                        take(place, found.map(|record| record.map(Told::Record)))
                    });
                }
                Inner::Other(cache, _) => {
                    let mut cache = crate::errors::lock(cache);
                    for (place, name) in names.iter().enumerate() {
                        let mut buffer = String::new();
                        let name = HostName::normalize(name, &mut buffer);
                        take(
                            place,
                            name.map(|name| {
                                cache.lookup(name, families, now).map(|found| Told::Found(Box::new(found)))
                            }),
                        );
                    }
                }
            }
            NameAnswers(answers)
        }))
    }

    /// Takes resolutions; gives those that were not taken, by their places, with the reason.
    fn put_entries(
        &self,
        py: Python<'_>,
        entries: Vec<Entry>,
        families: &str,
        now: Option<Seconds>,
    ) -> PyResult<Vec<(usize, String)>> {
        let (families, now) = (crate::job::families(families)?, now.unwrap_or_else(self::now));
        Ok(py.detach(|| {
            let mut rejected = Vec::new();
            for (place, (name, outcome, ttl, took)) in entries.iter().enumerate() {
                if let Err(why) = self.put(name, outcome, *ttl, *took, families, now) {
                    rejected.push((place, why));
                }
            }
            rejected
        }))
    }

    /// Forgets a name; tells whether it was known.
    fn forget(&self, name: &str) -> PyResult<bool> {
        let mut buffer = String::new();
        let name = HostName::normalize(name, &mut buffer).map_err(|why| self.refuse(name, why))?;
        Ok(match &self.inner {
            Inner::Compact(cache) => cache.remove(name),
            Inner::Other(cache, _) => crate::errors::lock(cache).forget(name),
        })
    }

    /// Forgets all names under a domain, or up to another; gives how many.
    #[pyo3(signature = (domain, *, to = None))]
    fn forget_under(&self, py: Python<'_>, domain: &str, to: Option<&str>) -> PyResult<u64> {
        let cache = self.compact("forget under a domain")?;
        let is_registered = |name: &str| name.trim_end_matches('.').contains('.');
        if let Some(last) = to.filter(|last| is_registered(domain) || is_registered(last)) {
            let allowed = "a top-level domain, from another one on: which names are between two registered domains, their hashes decide";
            return Err(setting("to", last, allowed.to_owned()));
        }
        let range = range(domain, to)?;
        Ok(py.detach(|| cache.forget_in(&range)))
    }

    /// How many names with addresses there are, under a domain if one is given, or up to another.
    #[pyo3(signature = (under = None, *, to = None, now = None))]
    fn count(
        &self,
        py: Python<'_>,
        under: Option<&str>,
        to: Option<&str>,
        now: Option<Seconds>,
    ) -> PyResult<u64> {
        let Some(domain) = under.or(to.map(|_| "")) else {
            return Ok(match &self.inner {
                Inner::Compact(cache) => cache.count(),
                Inner::Other(cache, _) => crate::errors::lock(cache).count(),
            });
        };
        let (cache, range) = (self.compact("count under a domain")?, range(domain, to)?);
        Ok(py.detach(|| cache.count_in(&range, now.unwrap_or_else(self::now))))
    }

    /// How many names with addresses there are under each top-level domain, the most first.
    #[pyo3(signature = (*, now = None))]
    fn count_by_tld(
        &self,
        py: Python<'_>,
        now: Option<Seconds>,
    ) -> PyResult<Vec<(Option<&'static str>, u64)>> {
        let cache = self.compact("count by top-level domain")?;
        Ok(py.detach(|| cache.count_by_tld(now.unwrap_or_else(self::now))))
    }

    /// What holds under a domain, or up to another, at most so many: top-level domain, label, hash of the name, answer.
    #[pyo3(signature = (under = "", *, to = None, limit = 1_000, now = None))]
    #[allow(clippy::type_complexity, reason = "the row of a table")]
    fn scan(
        &self,
        py: Python<'_>,
        under: &str,
        to: Option<&str>,
        limit: usize,
        now: Option<Seconds>,
    ) -> PyResult<Vec<(Option<&'static str>, u32, u64, NameAnswer)>> {
        let (cache, range) = (self.compact("scan")?, range(under, to)?);
        Ok(py.detach(|| {
            let mut rows = Vec::new();
            cache.scan(&range, now.unwrap_or_else(self::now), |entry| {
                if rows.len() < limit {
                    rows.push((entry.top, entry.label, entry.hash, NameAnswer(Told::Record(entry.record))));
                }
            });
            rows
        }))
    }

    /// What was done and is held, by name.
    fn stats(&self, py: Python<'_>) -> HashMap<&'static str, f64> {
        let bad = self.bad_names.load(std::sync::atomic::Ordering::Relaxed);
        let (common, names, memory) = match &self.inner {
            Inner::Compact(cache) => (cache.statistics(), cache.count(), cache.memory()),
            Inner::Other(cache, _) => {
                let cache = crate::errors::lock(cache);
                (cache.statistics(), cache.count(), cache.memory())
            }
        };
        let mut stats = HashMap::from([
            ("hits", common.hits as f64),
            ("misses", common.misses as f64),
            ("insertions", common.insertions as f64),
            ("evictions", common.evictions as f64),
            ("refused", common.refused as f64),
            ("bad_names", bad as f64),
            ("names", names as f64),
            ("memory", memory as f64),
        ]);
        if let Inner::Compact(cache) = &self.inner {
            let more = py.detach(|| cache.details());
            stats.extend([
                ("capacity", cache.settings().capacity as f64),
                ("negative_hits", more.negative_hits as f64),
                ("suspected_false_positives", more.suspected_false_positives as f64),
                ("sets_full", more.sets_full as f64),
                ("inherited", more.inherited as f64),
                ("used", more.used as f64),
                ("slots", more.slots as f64),
                ("table_bytes", more.table_bytes as f64),
                ("set_bytes", more.set_bytes as f64),
                ("small_sets", more.sets[0] as f64),
                ("large_sets", more.sets[1] as f64),
                ("filter_bytes", more.filter_bytes as f64),
                ("filter_fill", more.filter_fill),
            ]);
        }
        stats
    }

    /// Brings a file to the disk, so that it outlives a loss of power.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        match &self.inner {
            Inner::Compact(cache) => py.detach(|| cache.flush()).map_err(storage),
            Inner::Other(..) => Ok(()),
        }
    }
}

impl NameCache {
    /// Takes one resolution; or says why not.
    fn put(
        &self,
        name: &str,
        outcome: &Outcome,
        ttl: i64,
        took: u32,
        families: Families,
        now: Seconds,
    ) -> Result<(), String> {
        let mut buffer = String::new();
        let host = HostName::normalize(name, &mut buffer).map_err(|why| {
            self.count_bad();
            format!("{name:?}: {why}")
        })?;
        let answer = outcome.answer().map_err(|why| format!("{name}: {why}"))?;
        if !(0..=MAX_TTL).contains(&ttl) {
            return Err(format!("{name}: a TTL of {ttl} s; allowed: 0 to {MAX_TTL} (RFC 2181)"));
        }
        let resolution = Resolution { answer, ttl: ttl as u32, took };
        match &self.inner {
            Inner::Compact(cache) => {
                cache.put(host, families, &resolution, now);
            }
            Inner::Other(cache, _) => crate::errors::lock(cache).insert(host, families, &resolution, now),
        }
        Ok(())
    }

    /// The compact cache; other designs cannot do `what`.
    fn compact(&self, what: &str) -> PyResult<&CompactCache> {
        match &self.inner {
            Inner::Compact(cache) => Ok(cache),
            Inner::Other(_, name) => {
                Err(setting("names.cache", name, format!("compact, the only design that can {what}")))
            }
        }
    }

    /// Counts a bad name and makes an error of it.
    fn refuse(&self, name: &str, why: BadName) -> PyErr {
        self.count_bad();
        bad_name(name, why)
    }

    /// Counts a bad name.
    fn count_bad(&self) {
        self.bad_names.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Names under a domain, or from the first of these to the last one under another.
fn range(domain: &str, to: Option<&str>) -> PyResult<KeyRange> {
    let under = |name, domain: &str| {
        KeyRange::under(domain)
            .map_err(|error| setting(name, domain, format!("a top-level or a registered domain ({error})")))
    };
    let first = under("under", domain)?;
    let Some(last) = to else { return Ok(first) };
    let after = || {
        let allowed = format!(
            "{domain} or what comes after it: top-level domains by the alphabet, registered domains by their hashes"
        );
        setting("to", last, allowed)
    };
    first.up_to(&under("to", last)?).ok_or_else(after)
}

/// The time.
fn now() -> Seconds {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
