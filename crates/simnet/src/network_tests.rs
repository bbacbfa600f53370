//! Tests of delays and losses by the model, and of rate limits and single failures as the judge expects them.

use super::*;
use crate::nature::Nature;

/// A world of a profile, and its network.
fn net(profile: &str, hosts: u32, speed: f64) -> (World, Network) {
    let params = Params { profile: profile.into(), hosts, pages: 10, speed, ..Params::default() };
    let world = World::new(&params);
    let network = Network::new(&world, &params);
    (world, network)
}

/// Quantile of sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[(sorted.len() as f64 * share) as usize]
}

#[test]
fn dns_latency_and_loss_are_the_models() {
    let (world, network) = net("internet", 200, 1.0);
    let (mut delays, mut lost) = (Vec::new(), 0.0);
    let host = (0..200).find(|&h| world.nature(h).lookup == Lookup::Address).unwrap();
    for _ in 0..100_000 {
        match network.question(&world, host, false) {
            Fate::Lost => lost += 1.0,
            Fate::After(delay) => delays.push(delay.as_secs_f64() * 1e3),
        }
    }
    delays.sort_by(f64::total_cmp);
    assert!((900.0..1100.0).contains(&lost), "{lost}");
    assert!((58.0..63.0).contains(&quantile(&delays, 0.5)), "{}", quantile(&delays, 0.5));
    let body = &delays[..delays.len() * 99 / 100];
    let mean = body.iter().sum::<f64>() / body.len() as f64;
    assert!((90.0..115.0).contains(&mean), "{mean}");
    assert!((600.0..1200.0).contains(&quantile(&delays, 0.985)), "{}", quantile(&delays, 0.985));
    assert!(delays[delays.len() - 1] <= 15_000.0 && quantile(&delays, 0.9995) > 5_000.0);
    assert!((0..1000).all(|_| matches!(network.question(&world, host, true), Fate::After(_))));
}

#[test]
fn delays_are_divided_by_the_speed() {
    let ((world, one), (_, fast)) = (net("internet", 50, 1.0), net("internet", 50, 100.0));
    for host in 0..50 {
        let (a, b) = (one.question(&world, host, true), fast.question(&world, host, true));
        match (a, b) {
            (Fate::After(a), Fate::After(b)) => {
                assert!((a.as_secs_f64() - b.as_secs_f64() * 100.0).abs() < 1e-5);
            }
            (a, b) => assert_eq!(a, b),
        }
        let (a, b) = [&one, &fast].map(|net| net.pace(&world, host, 3, Kind::Page, 200, 27_000)).into();
        assert!((a.wait.as_secs_f64() - b.wait.as_secs_f64() * 100.0).abs() < 1e-5);
        assert!(a.wait > Duration::ZERO && a.spread > Duration::ZERO);
    }
}

#[test]
fn an_undelayed_profile_pays_nothing() {
    let (world, network) = net("lan", 50, 1.0);
    assert!(network.asked.is_empty() && !network.paced && !world.has_natures());
    assert_eq!(network.question(&world, 1, false), Fate::After(Duration::ZERO));
    assert_eq!(network.pace(&world, 1, 1, Kind::Page, 200, 27_000), Pace::default());
    assert!((0..50).all(|host| world.nature(host) == Nature::default()));
}

#[test]
fn http_latency_and_bandwidth_vary_by_host() {
    let (world, network) = net("internet", 4000, 1.0);
    let paces: Vec<_> =
        (0..4000).map(|host| network.pace(&world, host, 0, Kind::Page, 200, 150_000)).collect();
    let mut waits: Vec<_> = paces.iter().map(|p| p.wait.as_secs_f64() * 1e3).collect();
    let mut spreads: Vec<_> = paces.iter().map(|p| p.spread.as_secs_f64() * 1e3).collect();
    waits.sort_by(f64::total_cmp);
    spreads.sort_by(f64::total_cmp);
    assert!((110.0..132.0).contains(&quantile(&waits, 0.5)), "{}", quantile(&waits, 0.5));
    assert!((90.0..112.0).contains(&quantile(&spreads, 0.5)), "{}", quantile(&spreads, 0.5));
    assert!(quantile(&spreads, 0.999) <= 7_500.0 && quantile(&waits, 0.99) > 1_000.0);
}

#[test]
fn limiting_hosts_refuse_every_few_requests_until_the_pause_is_over() {
    let (world, network) = net("hostile", 200, 100.0);
    let host = (0..200).find(|&h| world.nature(h).manner == Manner::Limited).unwrap();
    let pause = world.retry_after(host).unwrap();
    assert!((5..=60).contains(&pause));
    let micros = u64::from(pause) * 10_000;
    let answers: Vec<_> = (0..6).map(|n| network.refuses(&world, host, n)).collect();
    assert_eq!(answers, [None, None, None, None, None, Some(pause)]);
    assert_eq!(network.refuses(&world, host, micros / 2), Some(pause), "too early: it starts again");
    assert_eq!(network.refuses(&world, host, micros / 2 + micros), None);
    let other = (0..200).find(|&h| world.nature(h).manner == Manner::Ordinary).unwrap();
    assert!((0..20).all(|n| network.refuses(&world, other, n).is_none()));
}

#[test]
fn pages_that_fail_once_fail_once() {
    let (world, network) = net("internet", 600, 1.0);
    let pages = (0..600).flat_map(|h| (0..world.pages(h)).map(move |s| (h, s)));
    let failing: Vec<_> = pages.filter(|&(h, s)| world.fails_once(h, s)).collect();
    assert!(!failing.is_empty() && failing.len() < 120, "{}", failing.len());
    assert!(failing.iter().all(|&(h, s)| network.fails(&world, h, s) && !network.fails(&world, h, s)));
}
