//! Finds the zone of a name: the longest configured suffix.

use std::collections::BTreeMap;
use std::fmt;

use crate::host::{BadName, HostName};

/// Values by zone; each applies to its zone's name and all names below it, except those in a longer zone.
///
/// Guarantees: a name has the value of the longest zone that it is in; a lookup takes one probe per label of
/// the name, at most as many as the deepest zone has, however many zones there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneTable<T> {
    /// By the zone's normal form.
    zones: BTreeMap<Box<str>, T>,
    /// The value for all names in no other zone.
    root: Option<T>,
    /// The number of labels of the deepest zone.
    deepest: usize,
}

/// Why zones are invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadZone {
    /// This text is not a zone.
    BadName(String, BadName),
    /// This zone, in normal form, is given twice.
    Twice(String),
}

impl fmt::Display for BadZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadZone::BadName(zone, why) => {
                write!(f, "zone {zone:?}: {why}; allowed: a domain's name, or . for all names")
            }
            BadZone::Twice(zone) => write!(f, "zone {zone:?} is given twice; each zone is allowed once"),
        }
    }
}

impl std::error::Error for BadZone {}

impl<T> Default for ZoneTable<T> {
    /// No zones.
    fn default() -> Self {
        ZoneTable { zones: BTreeMap::new(), root: None, deepest: 0 }
    }
}

impl<T> ZoneTable<T> {
    /// A table of zones and their values. The zone `.` applies to all names in no other zone.
    pub fn new<Z: AsRef<str>>(zones: impl IntoIterator<Item = (Z, T)>) -> Result<Self, BadZone> {
        let mut table = ZoneTable::default();
        for (zone, value) in zones {
            table.add(zone.as_ref(), value)?;
        }
        Ok(table)
    }

    /// Adds a zone.
    fn add(&mut self, zone: &str, value: T) -> Result<(), BadZone> {
        if zone == "." {
            if self.root.is_some() {
                return Err(BadZone::Twice(zone.to_owned()));
            }
            self.root = Some(value);
            return Ok(());
        }
        let mut buffer = String::new();
        let name = HostName::normalize(zone, &mut buffer)
            .map_err(|why| BadZone::BadName(zone.chars().take(QUOTED).collect(), why))?;
        if self.zones.contains_key(name.as_str()) {
            return Err(BadZone::Twice(name.as_str().to_owned()));
        }
        self.deepest = self.deepest.max(name.as_str().split('.').count());
        self.zones.insert(name.as_str().into(), value);
        Ok(())
    }

    /// The values, in the order of the zones' names, the root's last.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.zones.values().chain(&self.root)
    }

    /// A table with other values, which are computed in the same order.
    pub fn map<U>(&self, mut change: impl FnMut(&T) -> U) -> ZoneTable<U> {
        ZoneTable {
            zones: self.zones.iter().map(|(zone, value)| (zone.clone(), change(value))).collect(),
            root: self.root.as_ref().map(&mut change),
            deepest: self.deepest,
        }
    }

    /// The value of the longest zone that a name is in.
    pub fn find(&self, name: &HostName<'_>) -> Option<&T> {
        self.find_text(name.as_str())
    }

    /// The same for a text in lower case without a trailing dot, which need not be a host name.
    pub fn find_text(&self, name: &str) -> Option<&T> {
        self.found(name).map(|(_, value)| value)
    }

    /// The longest zone that a name is in, with its value; the root is `.`.
    pub fn zone_of<'n>(&self, name: &HostName<'n>) -> Option<(&'n str, &T)> {
        self.found(name.as_str())
    }

    /// The same for a text in lower case without a trailing dot.
    pub fn zone_of_text<'n>(&self, name: &'n str) -> Option<&'n str> {
        self.found(name).map(|(zone, _)| zone)
    }

    /// The zones whose values differ in another table, or that only one of both has; the root is `.`.
    pub fn changed<'t>(&'t self, other: &'t Self) -> Vec<&'t str>
    where
        T: PartialEq,
    {
        let own = self.zones.iter().filter(|(zone, value)| other.zones.get(*zone) != Some(value));
        let new = other.zones.keys().filter(|zone| !self.zones.contains_key(*zone));
        let root = (self.root != other.root).then_some(".");
        own.map(|(zone, _)| zone).chain(new).map(|zone| &**zone).chain(root).collect()
    }

    /// The number of zones.
    pub fn len(&self) -> usize {
        self.zones.len() + usize::from(self.root.is_some())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The longest zone of a text, with its value.
    fn found<'n>(&self, name: &'n str) -> Option<(&'n str, &T)> {
        let mut rest = (self.deepest > 0).then(|| last_labels(name, self.deepest));
        while let Some(zone) = rest {
            if let Some(value) = self.zones.get(zone) {
                return Some((zone, value));
            }
            rest = zone.split_once('.').map(|(_, above)| above);
        }
        self.root.as_ref().map(|value| (".", value))
    }
}

/// Characters of a text that an error quotes.
const QUOTED: usize = 60;

/// The last `count` labels of a name, from 1 on; the whole name if it has fewer.
fn last_labels(name: &str, count: usize) -> &str {
    match name.rmatch_indices('.').nth(count - 1) {
        Some((dot, _)) => &name[dot + 1..],
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The value of a name.
    fn find<'t, T>(table: &'t ZoneTable<T>, name: &str) -> Option<&'t T> {
        table.find(&HostName::new(name).unwrap())
    }

    #[test]
    fn changed_zones_are_those_with_other_values_and_those_of_one_table_only() {
        let old = ZoneTable::new([("same.example", 1), ("other.example", 1), ("gone.example", 1)]).unwrap();
        let new = [("same.example", 1), ("other.example", 2), ("new.example", 1), (".", 3)];
        let new = ZoneTable::new(new).unwrap();
        assert_eq!(old.changed(&new), ["gone.example", "other.example", "new.example", "."]);
        assert!(new.changed(&new).is_empty());
    }

    #[test]
    fn a_company_s_zones_have_servers_of_their_own() {
        let table = ZoneTable::new([
            ("corp.example", "inside"),
            ("lab.corp.example", "lab"),
            ("2.0.192.in-addr.arpa", "reverse"),
        ])
        .unwrap();
        for (name, expected) in [
            ("corp.example", Some("inside")),
            ("www.corp.example", Some("inside")),
            ("a.b.c.d.corp.example", Some("inside")),
            ("lab.corp.example", Some("lab")),
            ("x.y.lab.corp.example", Some("lab")),
            ("7.2.0.192.in-addr.arpa", Some("reverse")),
            ("xcorp.example", None),
            ("example", None),
            ("www.example", None),
            ("corp.example.com", None),
        ] {
            assert_eq!(find(&table, name).copied(), expected, "{name}");
        }
        let name = HostName::new("x.lab.corp.example").unwrap();
        assert_eq!(table.zone_of(&name), Some(("lab.corp.example", &"lab")));
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn the_root_is_for_all_other_names() {
        let table = ZoneTable::new([(".", 0), ("lan", 1)]).unwrap();
        assert_eq!(find(&table, "www.example"), Some(&0));
        assert_eq!(find(&table, "printer.lan"), Some(&1));
        assert_eq!(table.zone_of(&HostName::new("example").unwrap()), Some((".", &0)));
        let only = ZoneTable::new([(".", 0)]).unwrap();
        assert_eq!((find(&only, "example"), only.len(), only.is_empty()), (Some(&0), 1, false));
        let none = ZoneTable::<u8>::default();
        assert_eq!((find(&none, "example"), none.is_empty()), (None, true));
    }

    #[test]
    fn zones_may_be_written_as_names_are_written() {
        let table = ZoneTable::new([("Corp.Example.", 1), ("bücher.example", 2)]).unwrap();
        assert_eq!(find(&table, "www.corp.example"), Some(&1));
        assert_eq!(find(&table, "www.xn--bcher-kva.example"), Some(&2));
    }

    #[test]
    fn a_zone_that_is_given_twice_or_is_none_is_named() {
        for (zones, expected) in [
            (["lan", "Lan."], r#"zone "lan" is given twice; each zone is allowed once"#),
            ([".", "."], r#"zone "." is given twice; each zone is allowed once"#),
            (["lan", ""], r#"zone "": the name is empty; allowed: a domain's name, or . for all names"#),
            (
                ["lan", "a..b"],
                r#"zone "a..b": a label is empty; allowed: a domain's name, or . for all names"#,
            ),
        ] {
            let told = ZoneTable::new(zones.map(|zone| (zone, ()))).unwrap_err().to_string();
            assert_eq!(told, expected);
        }
    }

    proptest! {
        #[test]
        fn the_longest_suffix_is_found_as_by_looking_at_all(
            zones in prop::collection::hash_map("[ab]{1,2}(\\.[ab]{1,2}){0,3}", any::<u8>(), 0..12),
            root in any::<Option<u8>>(),
            name in "[ab]{1,2}(\\.[ab]{1,2}){0,5}",
        ) {
            let all = zones.iter().map(|(zone, value)| (zone.as_str(), *value));
            let table = ZoneTable::new(all.clone().chain(root.map(|value| (".", value)))).unwrap();
            let is_in = |zone: &str| name == zone || name.ends_with(&format!(".{zone}"));
            let expected = all.filter(|(zone, _)| is_in(zone)).max_by_key(|(zone, _)| zone.len());
            prop_assert_eq!(find(&table, &name).copied(), expected.map(|(_, value)| value).or(root));
        }

        #[test]
        fn any_text_may_be_looked_up(zone in any::<String>(), name in any::<String>()) {
            if let Ok(table) = ZoneTable::new([(&zone, ())]) {
                let mut buffer = String::new();
                if zone != "." {
                    let normal = HostName::normalize(&zone, &mut buffer).unwrap();
                    prop_assert!(table.find(&normal).is_some());
                }
                table.find_text(&name);
            }
        }
    }
}
