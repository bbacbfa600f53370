//! Tests of model files: built-in profiles are valid, and every bad value has an error of one line.

use super::*;

/// The error of a model file: name, value, allowed.
fn error(text: &str) -> (String, String, String) {
    match Model::parse(text) {
        Err(Error::Setting { name, value, allowed }) => (name.into_owned(), value, allowed),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn the_known_profiles_are_good_and_lan_is_the_default() {
    for (name, _) in PROFILES {
        let model = Model::load(name).unwrap();
        assert!(!model.description.is_empty());
        assert_eq!(model.is_timed(), name != "lan");
    }
    let lan = Model { description: String::new(), ..Model::load("lan").unwrap() };
    assert_eq!(lan, Model::default());
    assert_eq!(Model::parse("").unwrap(), Model::default());
}

#[test]
fn internet_is_calibrated_as_the_issue_says() {
    let dns = Model::load("internet").unwrap().dns;
    let mean = dns.latency.median_ms * (dns.latency.sigma.powi(2) / 2.0).exp();
    assert!(dns.latency.median_ms == 60.0 && (mean - 110.0).abs() < 1.0, "{mean}");
    assert_eq!((dns.latency.tail_share, dns.latency.tail_to_ms, dns.loss), (0.01, 15_000.0, 0.01));
    let cdf = |most| dns.ttl.iter().filter(|t| t.seconds <= most).map(|t| t.share).sum::<f64>();
    for (most, share) in [(60, 0.1), (300, 0.4), (3600, 0.7)] {
        assert!((cdf(most) - share).abs() < 1e-9, "{most}: {}", cdf(most));
    }
}

#[test]
fn every_bad_value_is_named_with_what_is_allowed() {
    for (text, name, value, allowed) in [
        ("[dns]\nlatncy = 1", "dns.latncy", "1", "a known key: "),
        ("colour = 'red'", "colour", "\"red\"", "a known key: "),
        ("dns = 5", "dns", "5", "a table"),
        ("[dns]\nloss = 'much'", "dns.loss", "\"much\"", "a number"),
        ("[dns]\nloss = 1.5", "dns.loss", "1.5", "0 to 1"),
        ("[dns]\nloss = nan", "dns.loss", "NaN", "0 to 1"),
        ("[dns]\nwildcards = -0.1", "dns.wildcards", "-0.1", "0 to 1"),
        ("[dns.latency]\nmedian_ms = -1", "dns.latency.median_ms", "-1", "0 to 86400000"),
        ("[http.latency]\ntail_from_ms = 9\ntail_to_ms = 5", "http.latency.tail_to_ms", "5", "9 to"),
        ("[dns.answers]\naddress = 0.8", "dns.answers", "sum to 0.8", "sum to 1"),
        ("[dns.answers]\naddress = 2", "dns.answers.address", "2", "a share, 0 to 1"),
        ("[dns]\nttl = [{seconds = 60, share = 0.5}]", "dns.ttl", "sum to 0.5", "sum to 1"),
        ("[dns]\nttl = [{seconds = -1, share = 1}]", "dns.ttl[0].seconds", "-1", "a whole number"),
        ("[dns]\nttl = [{share = 1}]", "dns.ttl[0].seconds", "(missing)", "a number"),
        ("[dns]\nttl = [7]", "dns.ttl[0]", "7", "a table"),
        ("[dns]\ncnames = {share = 0.1, most = 9}", "dns.cnames.most", "9", "0 to 8"),
        ("[dns]\nmoves = {share = 0.1}", "dns.moves.every_ttls", "0", "above 0"),
        ("[dns]\nmoves = {every_ttls = 1, grace_ttls = 2}", "dns.moves.grace_ttls", "2", "0 to 1"),
        ("[dns]\nfamilies = {both = 0.7, only_v6 = 0.7}", "dns.families", "sum to 1.4", "at most 1"),
        ("[addresses]\npool = 0", "addresses.pool", "0", "1 to 16516096"),
        (
            "[addresses]\ngroups = [{least = 0, most = 1, share = 1}]",
            "addresses.groups[0].least",
            "0",
            "1 to",
        ),
        ("[addresses]\ngroups = [{least = 5, most = 1, share = 1}]", "addresses.groups[0].most", "1", "5 to"),
        ("[manners]\nslow = 0.6\nbroken = 0.6", "manners", "sum to 1.2", "at most 1"),
        ("[manners]\nslow_s = -3", "manners.slow_s", "-3", "0 to 86400"),
        ("[manners]\nretry_least_s = 100", "manners.retry_most_s", "60", "100 to"),
        ("[traps]\ncalendar = 1.1", "traps.calendar", "1.1", "a share"),
        ("[robots]\nchange_s = 0", "robots.change_s", "0", "1 to"),
        ("[http.errors]\nhosts = 7", "http.errors.hosts", "7", "0 to 1"),
        ("\n[dns\n", "profile", "line 2", "a TOML file"),
    ] {
        let told = error(text);
        assert_eq!(told.0, name, "{text}");
        assert!(told.1.contains(value) && told.2.contains(allowed), "{text}: {told:?}");
        assert!(!told.1.contains('\n') && !told.2.contains('\n'), "{text}: {told:?}");
    }
}

#[test]
fn a_profile_is_a_name_or_a_file() {
    for profile in ["moon", "", "no/such/file.toml"] {
        let Err(Error::Setting { name, allowed, .. }) = Model::load(profile) else { panic!("{profile}") };
        assert_eq!((name.as_ref(), allowed.contains("lan, internet, hostile")), ("profile", true));
    }
    let file = std::env::temp_dir().join(format!("lycosa-model-{}.toml", std::process::id()));
    std::fs::write(&file, "[dns]\nloss = 0.5\n").unwrap();
    let model = Model::load(file.to_str().unwrap());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(model.unwrap().dns.loss, 0.5);
}
