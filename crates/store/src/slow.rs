//! The hosts whose responses begin latest, of any number of hosts, in bounded memory.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Hosts that are kept.
const KEPT: usize = 512;

/// Responses of a host before it is called slow: one may be an accident.
const LEAST: u32 = 3;

/// Mean times of hosts. Of more than it keeps, those with the greatest means stay; a host that comes back begins anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowHosts {
    /// By host: responses, and the sum of their times in microseconds.
    hosts: HashMap<String, (u32, u64)>,
    /// A mean below which no host is kept any more.
    floor: u64,
}

impl SlowHosts {
    /// Counts a response. us: microseconds from the request to the head of the response.
    pub fn add(&mut self, host: &str, us: u32) {
        if let Some((count, sum)) = self.hosts.get_mut(host) {
            *count = count.saturating_add(1);
            *sum += u64::from(us);
            return;
        }
        if self.hosts.len() >= KEPT {
            if u64::from(us) <= self.floor {
                return;
            }
            self.forget();
        }
        self.hosts.insert(host.to_owned(), (1, us.into()));
    }

    /// The slowest hosts, slowest first: host, responses, mean in microseconds.
    pub fn slowest(&self, most: usize) -> Vec<(&str, u32, u64)> {
        let known = self.hosts.iter().filter(|(_, (count, _))| *count >= LEAST);
        let mut found: Vec<_> =
            known.map(|(host, (count, sum))| (host.as_str(), *count, sum / u64::from(*count))).collect();
        found.sort_by(|one, other| other.2.cmp(&one.2).then(one.0.cmp(other.0)));
        found.truncate(most);
        found
    }

    /// Forgets the faster half.
    fn forget(&mut self) {
        let mean = |(count, sum): &(u32, u64)| sum / u64::from((*count).max(1));
        let mut means: Vec<u64> = self.hosts.values().map(mean).collect();
        let middle = means.len() / 2;
        let (_, median, _) = means.select_nth_unstable(middle);
        self.floor = *median;
        let above = self.hosts.values().filter(|times| mean(times) > self.floor).count();
        // Of equal ones as many as there is room for, beside all that are slower.
        let mut left = (KEPT / 2).saturating_sub(above);
        self.hosts.retain(|_, times| {
            let is_equal = mean(times) == self.floor && left > 0;
            left -= usize::from(is_equal);
            is_equal || mean(times) > self.floor
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_hosts_are_told_with_their_means() {
        let mut slow = SlowHosts::default();
        for n in 0..3 {
            slow.add("slow.example", 900_000 + n);
            slow.add("fast.example", 10);
        }
        slow.add("once.example", 5_000_000);
        assert_eq!(slow.slowest(5), [("slow.example", 3, 900_001), ("fast.example", 3, 10)]);
    }

    #[test]
    fn hosts_that_are_slower_than_most_stay_where_most_are_equal() {
        let mut slow = SlowHosts::default();
        (0..3).for_each(|_| slow.add("slow.example", 900_000));
        for n in 0..KEPT {
            (0..3).for_each(|_| slow.add(&format!("h{n}.example"), 10));
        }
        slow.forget();
        assert_eq!(slow.slowest(1), [("slow.example", 3, 900_000)]);
        assert_eq!(slow.hosts.len(), KEPT / 2);
    }

    #[test]
    fn of_many_hosts_the_slow_ones_stay() {
        let mut slow = SlowHosts::default();
        for n in 0..100_000u32 {
            let host = format!("h{n}.example");
            let us = if n % 10_000 == 0 { 1_000_000 + n } else { n % 100 };
            (0..3).for_each(|_| slow.add(&host, us));
        }
        assert!(slow.hosts.len() <= KEPT);
        let slowest = slow.slowest(10);
        assert_eq!(slowest.len(), 10);
        assert!(slowest.iter().all(|(_, _, mean)| *mean >= 1_000_000), "{slowest:?}");
    }
}
