//! Validation of a model file: unknown keys and wrong types by comparison with a template, then the bounds of
//! every value. Errors name the key, the value and what is allowed.

use serde::Serialize;
use toml::{Table, Value};

use crate::error::{Error, Result};
use crate::model::{MAX_CNAMES, Model};
use crate::params::MAX_HOSTS;

/// Tolerance for sums of shares, because of decimal fractions.
const ROUNDING: f64 = 1e-6;

/// Maximum delay in milliseconds: a day.
const DAY_MS: f64 = 86_400_000.0;

/// Compares a table with the template of all keys; fails for unknown keys and wrong types.
pub(crate) fn compare(path: &str, table: &Table, known: &Table) -> Result<()> {
    for (key, value) in table {
        let name = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let Some(template) = known.get(key) else {
            let keys: Vec<_> = known.keys().map(String::as_str).collect();
            return Err(Error::setting(name, value, format!("a known key: {}", keys.join(", "))));
        };
        compare_value(&name, value, template)?;
    }
    Ok(())
}

/// [`compare`] for one value.
fn compare_value(name: &str, value: &Value, template: &Value) -> Result<()> {
    let allowed = match (template, value) {
        (Value::Table(known), Value::Table(table)) => return compare(name, table, known),
        (Value::Array(known), Value::Array(values)) => {
            for (i, value) in values.iter().enumerate() {
                let name = format!("{name}[{i}]");
                let (Some(template), Some(table)) = (known.first(), value.as_table()) else {
                    return Err(Error::setting(name, value, "a table such as { … = …, share = 0.5 }"));
                };
                compare_value(&name, value, template)?;
                if let Some(missing) =
                    template.as_table().and_then(|t| t.keys().find(|k| !table.contains_key(*k)))
                {
                    return Err(Error::setting(format!("{name}.{missing}"), "(missing)", "a number"));
                }
            }
            return Ok(());
        }
        (Value::Float(_), Value::Float(_) | Value::Integer(_)) | (Value::String(_), Value::String(_)) => {
            return Ok(());
        }
        (Value::Integer(_), Value::Integer(n)) if u32::try_from(*n).is_ok() => return Ok(()),
        (Value::Table(_), _) => "a table",
        (Value::Array(_), _) => "a list of tables",
        (Value::Float(_), _) => "a number",
        (Value::Integer(_), _) => "a whole number, 0 to 4294967295",
        _ => "a text",
    };
    Err(Error::setting(name.to_owned(), value, allowed))
}

/// Checks every value of a model; the error names the first invalid one.
pub(crate) fn check(model: &Model) -> Result<()> {
    let (dns, http) = (&model.dns, &model.http);
    for (name, latency) in [("dns.latency", &dns.latency), ("http.latency", &http.latency)] {
        within(name, "median_ms", latency.median_ms, 0.0, DAY_MS)?;
        within(name, "sigma", latency.sigma, 0.0, 3.0)?;
        within(name, "tail_share", latency.tail_share, 0.0, 1.0)?;
        within(name, "tail_from_ms", latency.tail_from_ms, 0.0, DAY_MS)?;
        within(name, "tail_to_ms", latency.tail_to_ms, latency.tail_from_ms, DAY_MS)?;
    }
    within("dns", "loss", dns.loss, 0.0, 1.0)?;
    within("dns", "wildcards", dns.wildcards, 0.0, 1.0)?;
    let answers = &dns.answers;
    let shares = [
        ("address", answers.address),
        ("no_data", answers.no_data),
        ("nxdomain", answers.nxdomain),
        ("servfail", answers.servfail),
        ("dead", answers.dead),
    ];
    sums("dns.answers", &shares, true)?;
    let ttls: Vec<_> = (0..dns.ttl.len()).map(|i| format!("[{i}].share")).collect();
    let shares: Vec<_> = ttls.iter().zip(&dns.ttl).map(|(name, ttl)| (name.as_str(), ttl.share)).collect();
    sums("dns.ttl", &shares, true)?;
    for (i, ttl) in dns.ttl.iter().enumerate() {
        within(&format!("dns.ttl[{i}]"), "seconds", f64::from(ttl.seconds), 0.0, f64::from(i32::MAX))?;
    }
    within("dns.cnames", "share", dns.cnames.share, 0.0, 1.0)?;
    within("dns.cnames", "more", dns.cnames.more, 0.0, 1.0)?;
    within("dns.cnames", "most", f64::from(dns.cnames.most), 0.0, f64::from(MAX_CNAMES))?;
    within("dns.moves", "share", dns.moves.share, 0.0, 1.0)?;
    within("dns.moves", "every_ttls", dns.moves.every_ttls, 0.0, 1e6)?;
    within("dns.moves", "grace_ttls", dns.moves.grace_ttls, 0.0, dns.moves.every_ttls)?;
    if dns.moves.share > 0.0 && dns.moves.every_ttls <= 0.0 {
        return Err(Error::setting(
            "dns.moves.every_ttls",
            dns.moves.every_ttls,
            "above 0 when dns.moves.share is",
        ));
    }
    let families = &dns.families;
    sums("dns.families", &[("both", families.both), ("only_v6", families.only_v6)], false)?;
    check_addresses(model)?;
    within("http", "jitter", http.jitter, 0.0, 3.0)?;
    within("http.bandwidth", "median_kb_s", http.bandwidth.median_kb_s, 0.0, 1e9)?;
    within("http.bandwidth", "sigma", http.bandwidth.sigma, 0.0, 3.0)?;
    within("http.bandwidth", "least_kb_s", http.bandwidth.least_kb_s, 0.0, 1e9)?;
    within("http.errors", "hosts", http.errors.hosts, 0.0, 1.0)?;
    within("http.errors", "lasting", http.errors.lasting, 0.0, 1.0)?;
    within("http.errors", "passing", http.errors.passing, 0.0, 1.0)?;
    check_hosts(model)
}

/// Checks pool and groups.
fn check_addresses(model: &Model) -> Result<()> {
    let addresses = &model.addresses;
    within("addresses", "pool", f64::from(addresses.pool), 1.0, f64::from(MAX_HOSTS))?;
    let names: Vec<_> = (0..addresses.groups.len()).map(|i| format!("[{i}].share")).collect();
    let shares: Vec<_> =
        names.iter().zip(&addresses.groups).map(|(name, g)| (name.as_str(), g.share)).collect();
    sums("addresses.groups", &shares, true)?;
    for (i, group) in addresses.groups.iter().enumerate() {
        let name = format!("addresses.groups[{i}]");
        within(&name, "least", f64::from(group.least), 1.0, 1e6)?;
        within(&name, "most", f64::from(group.most), f64::from(group.least), 1e6)?;
    }
    Ok(())
}

/// Checks the shares of difficult hosts and their parameters.
fn check_hosts(model: &Model) -> Result<()> {
    let (manners, traps, robots) = (&model.manners, &model.traps, &model.robots);
    within("manners", "slow_s", manners.slow_s, 0.0, 86_400.0)?;
    within("manners", "dribble_s", manners.dribble_s, 0.0, 86_400.0)?;
    within("manners", "retry_least_s", f64::from(manners.retry_least_s), 1.0, 86_400.0)?;
    within(
        "manners",
        "retry_most_s",
        f64::from(manners.retry_most_s),
        f64::from(manners.retry_least_s),
        86_400.0,
    )?;
    within("traps", "chain_length", f64::from(traps.chain_length), 1.0, 1e6)?;
    within("robots", "slow_s", robots.slow_s, 0.0, 86_400.0)?;
    within("robots", "change_s", robots.change_s, 1.0, 1e9)?;
    sums("manners", &shares(manners), false)?;
    sums("traps", &shares(traps), false)?;
    sums("robots", &shares(robots), false)
}

/// The shares of a section: its numbers except times and counts.
fn shares(section: &impl Serialize) -> Vec<(&'static str, f64)> {
    /// The keys that are shares.
    const KEYS: [&str; 23] = [
        "slow",
        "dribbling",
        "resetting",
        "limited",
        "overloaded",
        "mislabelled",
        "binary",
        "broken",
        "foreign",
        "calendar",
        "sessions",
        "repetition",
        "loops",
        "chains",
        "soft_404",
        "duplicates",
        "names",
        "huge",
        "failing",
        "redirected",
        "changing",
        "both",
        "only_v6",
    ];
    let table = Table::try_from(section).unwrap_or_default();
    KEYS.iter().filter_map(|&key| Some((key, table.get(key)?.as_float()?))).collect()
}

/// Checks that a value is between two bounds.
fn within(section: &str, key: &str, value: f64, least: f64, most: f64) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::setting(format!("{section}.{key}"), value, format!("{least} to {most}")))
}

/// Checks that shares are between 0 and 1 and sum to 1 if `all`, else to at most 1.
fn sums(section: &str, shares: &[(&str, f64)], all: bool) -> Result<()> {
    let mut sum = 0.0;
    for (key, share) in shares {
        let glue = if key.starts_with('[') { "" } else { "." };
        if !(0.0..=1.0).contains(share) {
            return Err(Error::setting(format!("{section}{glue}{key}"), share, "a share, 0 to 1"));
        }
        sum += share;
    }
    let wrong = if all { (sum - 1.0).abs() > ROUNDING } else { sum > 1.0 + ROUNDING };
    if wrong {
        let allowed = if all { "shares that sum to 1" } else { "shares that sum to at most 1" };
        return Err(Error::setting(
            section.to_owned(),
            format!("shares that sum to {}", (sum * 1e6).round() / 1e6),
            allowed,
        ));
    }
    Ok(())
}
