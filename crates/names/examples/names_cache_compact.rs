//! Measures the compact cache; each subcommand prints one JSON object. `python -m benchmarks names_cache` runs
//! it.
//!
//! `memory COUNT` – bytes per name of a cache filled to its capacity, and address sets on a realistic mix.
//! `early COUNT` – names evicted before they expired, at 90 % load.
//! `lookups COUNT [PATH]` – lookups per CPU second, in batches, one by one, and with the name split into its
//! fields (as the published key needs it); in memory, or in a mapped file that replaces PATH.
//! `prefix COUNT` – seconds of a count under a top-level domain.
//! `file COUNT PATH` – the same in a mapped file, which must not exist: creating it, filling it, opening it
//! again.
//! `torn READS` – wrong and torn answers with one writing and two reading processes.
//! `wrong COUNT MODE` – wrong answers and the predicted number; MODE: `keyed` or `published`.
//! `negative COUNT` – bits per name and the measured false-positive rate.

#[path = "shared/made_names.rs"]
mod made_names;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use lycosa_names::cache::compact::{
    CompactCache, CompactError, CompactSettings, KeyRange, Negative, State, Verify, WRONG_ANSWERS,
};
use lycosa_names::cache::{Addresses, Answer, Resolution};
use lycosa_names::{Families, HostName};
use made_names::{random, write_name};
use nix::sys::resource::{UsageWho, getrusage};

/// The time of all operations.
const NOW: u64 = 1_800_000_000;

/// Names of one batch.
const BATCH: usize = 1_024;

/// The name with a number.
fn name(number: u64) -> String {
    let mut text = String::new();
    write_name(number, &mut text);
    text
}

/// The address of a name: derived from its number, so that another name's address is detected.
fn address(number: u64) -> Ipv4Addr {
    Ipv4Addr::from(random(number ^ 0x5555) as u32)
}

/// A resolution with these addresses.
fn resolution(v4: Vec<Ipv4Addr>, v6: Vec<Ipv6Addr>) -> Resolution {
    Resolution { answer: Answer::Addresses(Addresses { v4, v6 }), ttl: 3_600, took: 40 }
}

/// CPU seconds of this process.
fn cpu() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap_or_else(|_| std::process::exit(1));
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// A cache for `count` names, without the parts that are measured separately: in a new file, or in memory.
fn table(count: u64, verify: Verify, path: Option<&Path>) -> Result<CompactCache, CompactError> {
    let settings = CompactSettings {
        capacity: count,
        verify,
        small_sets: Some(64),
        large_sets: Some(64),
        negative_capacity: Some(0),
        ..CompactSettings::default()
    };
    match path {
        Some(path) => CompactCache::rebuild(path, settings, NOW),
        None => CompactCache::in_memory(settings, NOW, None),
    }
}

/// Inserts names, each with its own address; returns CPU seconds.
fn fill(cache: &CompactCache, count: u64) -> f64 {
    let (mut text, mut seconds) = (String::new(), 0.0);
    let begin = cpu();
    for number in 0..count {
        write_name(number, &mut text);
        if let Ok(name) = HostName::new(&text) {
            cache.put(name, Families::V4, &resolution(vec![address(number)], Vec::new()), NOW);
        }
    }
    seconds += cpu() - begin;
    seconds
}

/// `early`, and the first half of `memory`.
fn early(count: u64) -> Result<String, CompactError> {
    let cache = table(count, Verify::Keyed, None)?;
    let seconds = fill(&cache, count);
    let (done, details) = (cache.statistics(), cache.details());
    Ok(format!(
        "\"names\": {count}, \"held\": {}, \"load\": {:.4}, \"evicted_early\": {}, \"evicted_early_share\": {:.6}, \
         \"table_bytes\": {}, \"bytes_a_name\": {:.3}, \"insertions_a_cpu_second\": {:.0}",
        cache.count(),
        details.used as f64 / details.slots as f64,
        done.evictions,
        done.evictions as f64 / count as f64,
        cache.memory(),
        cache.memory() as f64 / count as f64,
        count as f64 / seconds,
    ))
}

/// Address sets on a mix: names share them as in background/dns.md (a fifth alone, a third with more than a
/// hundred others), a fifth have two to four IPv4 addresses, a quarter have IPv6.
fn mix(count: u64) -> Result<String, CompactError> {
    let settings =
        CompactSettings { capacity: count, negative_capacity: Some(0), ..CompactSettings::default() };
    let cache = CompactCache::in_memory(settings, NOW, None)?;
    let mut text = String::new();
    for number in 0..count {
        write_name(number, &mut text);
        let dice = random(number ^ 0xabcd);
        // How many names share the addresses: none, a few, or very many.
        let place = match dice % 10 {
            0 | 1 => number,
            2..=6 => (1 << 40) + random(dice) % (count / 20).max(1),
            _ => (2 << 40) + random(dice) % (count / 1_000).max(1),
        };
        let served = random(place);
        let v4 = if served % 10 < 8 { 1 } else { 2 + served / 10 % 3 };
        let v6 = if (served / 100).is_multiple_of(4) { v4 } else { 0 };
        let v4 = (0..v4).map(|n| address(place + (n << 50))).collect();
        let v6 = (0..v6).map(|n| Ipv6Addr::from(u128::from(random(place + n)) << 64 | 1)).collect();
        if let Ok(name) = HostName::new(&text) {
            cache.put(name, Families::Both, &resolution(v4, v6), NOW);
        }
    }
    let details = cache.details();
    let [small, large] = details.sets;
    Ok(format!(
        "\"mix\": {{\"names\": {}, \"small_sets\": {small}, \"large_sets\": {large}, \"sets_full\": {}, \"set_bytes_in_use\": {}, \
         \"set_bytes_in_use_a_name\": {:.3}, \"set_bytes_reserved_a_name\": {:.3}}}",
        cache.count(),
        details.sets_full,
        small * 32 + large * 96,
        (small * 32 + large * 96) as f64 / count as f64,
        details.set_bytes as f64 / count as f64,
    ))
}

/// Texts of cached names, in random order.
fn texts(count: u64, lookups: usize) -> Vec<String> {
    (0..lookups as u64).map(|turn| name(random(turn ^ 0x77) % count)).collect()
}

/// `lookups`.
fn lookups(count: u64, path: Option<&Path>) -> Result<String, CompactError> {
    let mut out = Vec::new();
    let lookups = (count as usize).clamp(100_000, 4_000_000);
    let texts = texts(count, lookups);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let absent: Vec<String> = (0..lookups as u64).map(|turn| name(count + random(turn) % count)).collect();
    let absent: Vec<&str> = absent.iter().map(String::as_str).collect();
    for (verify, label) in [(Verify::Keyed, "keyed"), (Verify::Published, "published")] {
        let cache = table(count, verify, path)?;
        fill(&cache, count);
        let held = cache.count() as f64;
        for (texts, kind) in [(&texts, "known"), (&absent, "unknown")] {
            let mut rates = Vec::new();
            for _ in 0..5 {
                let (begin, mut hits) = (cpu(), 0_u64);
                for batch in texts.chunks(BATCH) {
                    cache.get_texts(batch, Families::V4, NOW, |_, found| {
                        hits += u64::from(matches!(found, Ok(Some(_))))
                    });
                }
                rates.push(lookups as f64 / (cpu() - begin));
                std::hint::black_box(hits);
            }
            rates.sort_by(f64::total_cmp);
            out.push(format!(
                "\"{label}_batched_{kind}_a_cpu_second\": {:.0}, \"{label}_batched_{kind}_slowest\": {:.0}",
                rates[2], rates[0]
            ));
        }
        let (begin, mut hits) = (cpu(), 0_u64);
        for text in &texts {
            let mut buffer = String::new();
            if let Ok(name) = HostName::normalize(text, &mut buffer) {
                hits += u64::from(cache.get(name, Families::V4, NOW).is_some());
            }
        }
        out.push(format!(
            "\"{label}_single_nanoseconds\": {:.1}, \"{label}_held\": {held}, \"{label}_hits\": {hits}",
            (cpu() - begin) * 1e9 / lookups as f64
        ));
    }
    Ok(out.join(", "))
}

/// `prefix`.
fn prefix(count: u64) -> Result<String, CompactError> {
    let cache = table(count, Verify::Keyed, None)?;
    fill(&cache, count);
    let range = KeyRange::under("com").unwrap_or_else(|_| std::process::exit(1));
    let mut out = Vec::new();
    for _ in 0..3 {
        let begin = Instant::now();
        let found = cache.count_in(&range, NOW);
        out.push((begin.elapsed().as_secs_f64(), found));
    }
    out.sort_by(|a, b| a.0.total_cmp(&b.0));
    let begin = Instant::now();
    let by_tld = cache.count_by_tld(NOW);
    let all = begin.elapsed().as_secs_f64();
    Ok(format!(
        "\"names\": {}, \"under_com\": {}, \"seconds\": {:.4}, \"slowest_seconds\": {:.4}, \"count_by_tld_seconds\": {all:.4}, \"top_level_domains\": {}",
        cache.count(),
        out[1].1,
        out[1].0,
        out[2].0,
        by_tld.len()
    ))
}

/// `file`.
fn file(count: u64, path: &Path) -> Result<String, CompactError> {
    let settings = CompactSettings { capacity: count, ..CompactSettings::default() };
    let open = || {
        let begin = Instant::now();
        let cache = CompactCache::open(path, settings.clone(), NOW)?;
        Ok::<_, CompactError>((cache, begin.elapsed().as_secs_f64()))
    };
    let (cache, made) = open()?;
    let filled = fill(&cache, count);
    let (beside, joined) = open()?;
    drop((cache, beside));
    let (cache, opened) = open()?;
    let bytes = cache.memory();
    let out = format!(
        "\"names\": {}, \"bytes\": {bytes}, \"made_seconds\": {made:.3}, \"fill_cpu_seconds\": {filled:.3}, \
         \"joined_seconds\": {joined:.4}, \"opened_alone_seconds\": {opened:.3}",
        cache.count(),
    );
    drop(cache);
    let _ = std::fs::remove_file(path);
    Ok(out)
}

/// `negative`.
fn negative(count: u64) -> Result<String, CompactError> {
    let mut out = Vec::new();
    for (mode, label) in [(Negative::ClearAll, "clear_all"), (Negative::Generations(4), "generations")] {
        let settings = CompactSettings {
            capacity: 1_000,
            negative: mode,
            negative_capacity: Some(count),
            negative_ttl: 4_000,
            ..CompactSettings::default()
        };
        let cache = CompactCache::in_memory(settings, NOW, None)?;
        let mut text = String::new();
        let nothing = Resolution { answer: Answer::NxDomain, ttl: 900, took: 40 };
        // Spread over the filter's retention, as generations are meant to be filled.
        let end = NOW + 3_999;
        for number in 0..count {
            write_name(number, &mut text);
            let now = NOW + (u128::from(number) * 4_000 / u128::from(count)) as u64;
            if let Ok(name) = HostName::new(&text) {
                cache.put(name, Families::V4, &nothing, now);
            }
        }
        let probes = (count * 5).max(20_000_000);
        let (mut wrong, mut missed) = (0_u64, 0_u64);
        let look = |number: u64, text: &mut String| {
            write_name(number, text);
            HostName::new(text).is_ok_and(|name| cache.get(name, Families::V4, end).is_some())
        };
        for number in 0..count {
            missed += u64::from(!look(number, &mut text));
        }
        for number in count..count + probes {
            wrong += u64::from(look(number, &mut text));
        }
        let details = cache.details();
        out.push(format!(
            "\"{label}\": {{\"names\": {count}, \"bits_a_name\": {:.3}, \"missed\": {missed}, \"probes\": {probes}, \"false_positives\": {wrong}, \
             \"false_positive_rate\": {:.3e}, \"fill\": {:.4}}}",
            details.filter_bytes as f64 * 8.0 / count as f64,
            wrong as f64 / probes as f64,
            details.filter_fill,
        ));
    }
    Ok(out.join(", "))
}

/// `wrong`: looks up all cached names, and as many others.
fn wrong(count: u64, verify: Verify) -> Result<String, CompactError> {
    let cache = table(count, verify, None)?;
    fill(&cache, count);
    let (mut text, mut wrong_known, mut wrong_unknown, mut found) = (String::new(), 0_u64, 0_u64, 0_u64);
    for number in 0..2 * count {
        write_name(number, &mut text);
        let Some(record) = HostName::new(&text).ok().and_then(|name| cache.get(name, Families::V4, NOW))
        else {
            continue;
        };
        if number >= count {
            wrong_unknown += 1;
        } else if record.v4().next() == Some(address(number)) {
            found += 1;
        } else {
            wrong_known += 1;
        }
    }
    // Keyed: an unknown name is compared with the slots of two buckets, 64 bits each. Published: two names
    // share a key if prefix, suffix and the labels' 32 bits are equal: n q / 2^32, where q is the probability
    // that prefix and suffix are equal.
    let details = cache.details();
    let keyed = WRONG_ANSWERS * details.used as f64 / details.slots as f64;
    let rests = [0.41, 0.03, 0.12, 0.44].iter().map(|part: &f64| part * part).sum::<f64>();
    // Suffixes as the published key has them: by top-level domain; labels of different suffixes under one
    // differ as well.
    let tops = made_names::SUFFIXES.iter().map(|(_, part)| (*part as f64 / 1e3).powi(2)).sum::<f64>();
    let published = cache.count() as f64 * rests * tops / 2.0_f64.powi(32);
    let predicted = if verify == Verify::Keyed { keyed } else { published };
    Ok(format!(
        "\"names\": {count}, \"held\": {}, \"right\": {found}, \"wrong_of_known\": {wrong_known}, \"wrong_of_unknown\": {wrong_unknown}, \
         \"lookups_of_unknown\": {count}, \"rate\": {:.3e}, \"predicted_rate\": {predicted:.3e}, \"predicted_wrong\": {:.3}",
        cache.count(),
        wrong_unknown as f64 / count as f64,
        predicted * count as f64,
    ))
}

/// Names in the file of `torn`, few enough that writers and readers collide in the same buckets all the time.
const TORN_NAMES: u64 = 4_000;

/// Opens the file of `torn`.
fn torn_cache(path: &Path) -> Result<CompactCache, CompactError> {
    CompactCache::open(
        path,
        CompactSettings { capacity: TORN_NAMES, negative_capacity: Some(0), ..CompactSettings::default() },
        NOW,
    )
}

/// The resolution that `torn` writes for a name in a turn: all addresses contain the name's number.
fn torn_resolution(number: u64, turn: u64) -> Resolution {
    let base = (random(number) as u32) & 0xffff_ff00;
    match turn % 4 {
        0 | 1 => resolution(vec![Ipv4Addr::from(base | (turn as u32 & 0xff))], Vec::new()),
        2 => resolution(
            (0..3).map(|n| Ipv4Addr::from(base | (turn.wrapping_add(n) as u32 & 0xff))).collect(),
            Vec::new(),
        ),
        _ => resolution(
            (0..2).map(|n| Ipv4Addr::from(base | (turn.wrapping_add(n) as u32 & 0xff))).collect(),
            (0..2)
                .map(|n| Ipv6Addr::from(u128::from(base) << 96 | u128::from(turn.wrapping_add(n))))
                .collect(),
        ),
    }
}

/// `torn-write`: writes until it is killed.
fn torn_write(path: &Path) -> Result<String, CompactError> {
    let cache = torn_cache(path)?;
    let names: Vec<String> = (0..TORN_NAMES).map(name).collect();
    for turn in 0_u64.. {
        let number = random(turn) % TORN_NAMES;
        if let Ok(name) = HostName::new(&names[number as usize]) {
            if turn % 16 == 5 {
                cache.remove(name);
            } else {
                cache.put(name, Families::Both, &torn_resolution(number, turn), NOW);
            }
        }
    }
    Ok(String::new())
}

/// `torn-read`: reads `reads` times; prints how many answers belong to another name or are mixed.
fn torn_read(path: &Path, reads: u64) -> Result<String, CompactError> {
    let cache = torn_cache(path)?;
    let texts: Vec<String> = (0..TORN_NAMES).map(name).collect();
    let names: Vec<HostName<'_>> = texts.iter().filter_map(|text| HostName::new(text).ok()).collect();
    let (mut found, mut torn, mut done) = (0_u64, 0_u64, 0);
    while done < reads {
        cache.get_many(&names, Families::Both, NOW, |number, record| {
            let Some(record) = record else { return };
            let base = (random(number as u64) as u32) & 0xffff_ff00;
            let right = record.state == State::Addresses
                && record.v4().len() > 0
                && record.v4().all(|address| u32::from(address) & 0xffff_ff00 == base)
                && record.v6().all(|address| (u128::from(address) >> 96) as u32 == base);
            found += 1;
            torn += u64::from(!right);
        });
        done += TORN_NAMES;
    }
    Ok(format!("{done} {found} {torn}"))
}

/// `torn`.
fn torn(reads: u64) -> Result<String, CompactError> {
    let directory = std::env::temp_dir().join(format!("lycosa-torn-{}", std::process::id()));
    let io = |error| CompactError::Io { path: directory.clone(), error };
    std::fs::create_dir_all(&directory).map_err(io)?;
    let file = directory.join("cache");
    drop(torn_cache(&file)?);
    let this = std::env::current_exe().map_err(io)?;
    let mut writer = Command::new(&this).arg("torn-write").arg(&file).spawn().map_err(io)?;
    let begin = Instant::now();
    let readers: Vec<_> = (0..2)
        .filter_map(|_| {
            Command::new(&this)
                .arg("torn-read")
                .arg(&file)
                .arg((reads / 2).to_string())
                .stdout(Stdio::piped())
                .spawn()
                .ok()
        })
        .collect();
    let mut sums = [0_u64; 3];
    for reader in readers {
        let output = reader.wait_with_output().map_err(io)?;
        for (sum, text) in
            sums.iter_mut().zip(String::from_utf8_lossy(&output.stdout).split_ascii_whitespace())
        {
            *sum +=
                text.trim_matches(|letter: char| !letter.is_ascii_digit()).parse::<u64>().unwrap_or_default();
        }
    }
    let _ = writer.kill();
    let _ = writer.wait();
    let _ = std::fs::remove_dir_all(&directory);
    let [done, found, torn] = sums;
    Ok(format!(
        "\"reads\": {done}, \"answers\": {found}, \"torn\": {torn}, \"seconds\": {:.1}",
        begin.elapsed().as_secs_f64()
    ))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map_or("", String::as_str);
    let count = argument(1).parse::<f64>().unwrap_or(1e6) as u64;
    let printed = match argument(0) {
        "memory" => {
            early(count).and_then(|table| Ok(format!("{{{table}, {}}}", mix(count.min(10_000_000))?)))
        }
        "early" => early(count).map(|text| format!("{{{text}}}")),
        "lookups" => lookups(count, arguments.get(2).map(Path::new))
            .map(|text| format!("{{\"names\": {count}, {text}}}")),
        "prefix" => prefix(count).map(|text| format!("{{{text}}}")),
        "file" => file(count, Path::new(argument(2))).map(|text| format!("{{{text}}}")),
        "negative" => negative(count).map(|text| format!("{{{text}}}")),
        "wrong" => {
            let verify = if argument(2) == "published" { Verify::Published } else { Verify::Keyed };
            wrong(count, verify).map(|text| format!("{{{text}}}"))
        }
        "torn" => torn(count).map(|text| format!("{{{text}}}")),
        "torn-write" => torn_write(Path::new(argument(1))),
        "torn-read" => torn_read(Path::new(argument(1)), argument(2).parse().unwrap_or_default()),
        _ => {
            eprintln!(
                "names_cache_compact memory|early|lookups|prefix|negative COUNT, file COUNT PATH, torn READS, or wrong COUNT keyed|published"
            );
            std::process::exit(2);
        }
    };
    match printed {
        Ok(text) => println!("{text}"),
        Err(error) => {
            eprintln!("names_cache_compact: {error}");
            std::process::exit(1);
        }
    }
}
