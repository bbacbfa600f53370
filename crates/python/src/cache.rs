//! Caches of names, of all designs, for Python programs and operators.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use lycosa_names::cache::compact::{
    CompactCache, CompactError, CompactSettings, KeyRange, Negative, Notices, Record, State, Verify,
};
use lycosa_names::cache::{self, Addresses, Answer, Class, Found, Resolution, SLOW, Seconds, Trouble};
use lycosa_names::{BadName, Families, HostName};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::designs::{Design, WeightSetting};
use crate::errors::{bad_name, setting, storage};
use crate::job::{millis, period};

/// What a cache knows of a name.
#[pyclass(frozen, module = "lycosa._core", freelist = 64)]
#[derive(Clone)]
pub(crate) struct NameAnswer(Told);

/// What was told, as the design gives it.
#[derive(Clone)]
enum Told {
    Record(Record),
    Found(Box<Found>),
    Bad(BadName),
}

#[pymethods]
impl NameAnswer {
    /// Its addresses as texts, IPv4 first.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        match &self.0 {
            Told::Record(record) => record
                .v4()
                .map(|address| address.to_string())
                .chain(record.v6().map(|address| address.to_string()))
                .collect(),
            Told::Found(found) => match &found.answer {
                Answer::Addresses(Addresses { v4, v6 }) => {
                    v4.iter().map(ToString::to_string).chain(v6.iter().map(ToString::to_string)).collect()
                }
                _ => Vec::new(),
            },
            Told::Bad(_) => Vec::new(),
        }
    }

    /// `ok`, `nxdomain`, `nodata`, `negative` (one of the two), `servfail`, `timeout` or `bad-name`.
    #[getter]
    fn state(&self) -> &'static str {
        match &self.0 {
            Told::Record(record) => match record.state {
                State::Addresses => "ok",
                State::NxDomain => "nxdomain",
                State::NoData => "nodata",
                State::Negative => "negative",
                State::Failed { trouble, .. } => trouble_name(trouble),
            },
            Told::Found(found) => match found.answer {
                Answer::Addresses(_) => "ok",
                Answer::NxDomain => "nxdomain",
                Answer::NoData => "nodata",
                Answer::Negative => "negative",
                Answer::Failed { trouble, .. } => trouble_name(trouble),
            },
            Told::Bad(_) => "bad-name",
        }
    }

    /// When it ceases to hold, in seconds since 1970; `None` where the cache cannot tell.
    #[getter]
    fn expires(&self) -> Option<Seconds> {
        match &self.0 {
            Told::Record(record) => record.expires,
            Told::Found(found) => found.expires,
            Told::Bad(_) => None,
        }
    }

    /// What resolving cost: `fast`, `slow` or `failed`.
    #[getter(class_)]
    fn class(&self) -> &'static str {
        let class = match &self.0 {
            Told::Record(record) => record.class,
            Told::Found(found) => found.class,
            Told::Bad(_) => Class::Failed,
        };
        match class {
            Class::Fast => "fast",
            Class::Slow => "slow",
            Class::Failed => "failed",
        }
    }

    /// Which rule a `bad-name` breaks.
    #[getter]
    fn reason(&self) -> Option<String> {
        match self.0 {
            Told::Bad(why) => Some(why.to_string()),
            Told::Record(_) | Told::Found(_) => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("<NameAnswer {} {:?} {}>", self.state(), self.addresses(), self.class())
    }
}

/// The name of a trouble.
fn trouble_name(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::ServerFailure => "servfail",
        Trouble::TimeOut => "timeout",
    }
}

/// Answers to many names, in their order. One becomes a Python object when it is asked for.
#[pyclass(frozen, sequence, module = "lycosa._core")]
pub(crate) struct NameAnswers(Vec<Option<NameAnswer>>);

#[pymethods]
impl NameAnswers {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Option<NameAnswer>> {
        let len = self.0.len() as isize;
        let place = if index < 0 { index + len } else { index };
        let found = usize::try_from(place).ok().and_then(|place| self.0.get(place));
        found
            .cloned()
            .ok_or_else(|| pyo3::exceptions::PyIndexError::new_err(format!("{index} of {len} answers")))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().cloned())?.try_iter()
    }

    /// How many names have an answer.
    fn known(&self) -> usize {
        self.0.iter().filter(|answer| answer.is_some()).count()
    }
}

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

/// Settings of the compact cache as Python gives them; `None` is the default.
#[derive(FromPyObject)]
pub(crate) struct CacheSettings {
    #[pyo3(item, default)]
    path: Option<PathBuf>,
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
    fn compact(&self) -> PyResult<CompactSettings> {
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
    fn published<'j>(&'j self, name: &'j str) -> Design<'j> {
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

/// One resolution to be cached: a name; its addresses, or what became of it; its TTL in seconds; how many milliseconds resolving
/// took.
type Entry = (PyBackedStr, Outcome, i64, u32);

/// The addresses of a name, or what became of it.
#[derive(FromPyObject)]
pub(crate) enum Outcome {
    State(PyBackedStr),
    Addresses(Vec<PyBackedStr>),
}

impl Outcome {
    /// As caches take it; or why not.
    fn answer(&self) -> Result<Answer, String> {
        let failed = |trouble| Answer::Failed { trouble, attempts: 1 };
        match self {
            Outcome::State(state) => match &**state {
                "nxdomain" => Ok(Answer::NxDomain),
                "nodata" => Ok(Answer::NoData),
                "servfail" => Ok(failed(Trouble::ServerFailure)),
                "timeout" => Ok(failed(Trouble::TimeOut)),
                other => Err(format!(
                    "{other:?} is no state; allowed: nxdomain, nodata, servfail, timeout, or a list of addresses"
                )),
            },
            Outcome::Addresses(texts) => {
                if texts.is_empty() {
                    return Err("there is no address; allowed: addresses, or nodata".to_owned());
                }
                let parse = |text: &PyBackedStr| {
                    text.parse().map_err(|_| format!("{:?} is no IPv4 or IPv6 address", &**text))
                };
                let addresses = texts.iter().map(parse).collect::<Result<Vec<std::net::IpAddr>, _>>()?;
                Ok(Answer::Addresses(Addresses::new(addresses)))
            }
        }
    }
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

/// Why a cache is not in its file: from the start, or since its file was cut.
pub(crate) struct Fallback {
    from_start: Option<String>,
    notices: Arc<Notices>,
}

impl Fallback {
    /// Of this cache.
    fn of(cache: &CompactCache) -> Self {
        let from_start = cache.fallen_back().map(str::to_owned);
        Fallback { from_start, notices: Arc::clone(cache.notices()) }
    }

    /// Why, if so.
    pub(crate) fn why(&self) -> Option<String> {
        self.from_start.clone().or_else(|| self.notices.lost().map(str::to_owned))
    }
}

/// Logs what was done to bring a cache's file up to date, and what will happen to the file while it is open.
pub(crate) fn watch(cache: &CompactCache) -> Fallback {
    if let Some(renewed) = cache.renewed() {
        Python::attach(|py| log(py, "info", renewed));
    }
    cache.notices().listen(|text| {
        let text = text.to_owned();
        // On a thread of its own: whoever has the GIL may be waiting for the one that noticed.
        let told = std::thread::Builder::new()
            .name("lycosa-notice".to_owned())
            .spawn(move || Python::try_attach(|py| log(py, "warning", &text)));
        drop(told);
    });
    Fallback::of(cache)
}

/// Logs a line. Without a logger the work goes on all the same.
fn log(py: Python<'_>, level: &str, text: &str) {
    let logger = py.import("logging").and_then(|logging| logging.call_method1("getLogger", ("lycosa",)));
    drop(logger.and_then(|logger| logger.call_method1(level, ("%s", text))));
}

/// Why there is no cache.
pub(crate) fn refused(error: &CompactError) -> PyErr {
    match error {
        CompactError::Setting { name, given, allowed } => setting(name, given, allowed),
        other => storage(other),
    }
}
