//! The servers for all names, and those for the names of some zones: each group chooses among its own.

use lycosa_url::Micros;

use super::{Pace, Place, Upstreams};
use crate::asked::Refusals;
use crate::nameserver::Nameserver;
use crate::settings::{Settings, UpstreamFigures};
use crate::zones::ZoneTable;

/// All servers, numbered through all groups.
pub(crate) struct UpstreamGroups {
    /// The first is the one for all names that are in no zone.
    groups: Vec<Group>,
    /// The group of each zone.
    zones: ZoneTable<usize>,
}

/// The servers of one group.
struct Group {
    /// The place of its first server.
    first: Place,
    upstreams: Upstreams,
}

impl UpstreamGroups {
    /// The servers of the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        // A server that several groups have has one pace.
        let all: Vec<&Nameserver> = settings.all_servers().collect();
        let given = settings.paces.iter().cloned().chain(std::iter::repeat_with(Pace::default));
        let paces: Vec<Pace> = given.take(all.len()).collect();
        let pace_of = |server: &Nameserver| {
            all.iter().position(|other| *other == server).map(|place| paces[place].clone())
        };
        let with = |servers: &[Nameserver], spread| Settings {
            paces: servers.iter().filter_map(pace_of).collect(),
            servers: servers.to_vec(),
            spread,
            ..settings.clone()
        };
        let mut groups =
            vec![Group { first: 0, upstreams: Upstreams::new(&with(&settings.servers, settings.spread)) }];
        let mut next = settings.servers.len();
        let zones = settings.zones.map(|servers| {
            let own = with(servers, false);
            groups.push(Group { first: next, upstreams: Upstreams::new(&own) });
            next += servers.len();
            groups.len() - 1
        });
        UpstreamGroups { groups, zones }
    }

    /// How many servers there are.
    pub(crate) fn count(&self) -> usize {
        self.groups.iter().map(|group| group.upstreams.count()).sum()
    }

    /// How many errors are believed about a question that was asked of this server: one of each server that can be asked, and of one
    /// alone where names are spread, which has asked whoever could be asked.
    pub(crate) fn believed(&self, place: Place, now: Micros) -> usize {
        let upstreams = &self.group_of(place).upstreams;
        if upstreams.is_spread() { 1 } else { upstreams.reached(now) }
    }

    /// Whether no question reaches a server that may have been started again.
    pub(crate) fn is_gone(&self, place: Place, now: Micros) -> bool {
        let group = self.group_of(place);
        group.upstreams.is_gone(place - group.first, now)
    }

    /// Whether each name has a server of its own among those of this one's group.
    pub(crate) fn is_spread(&self, place: Place) -> bool {
        self.group_of(place).upstreams.is_spread()
    }

    /// The server to ask next about a name, where possible another one than that which was asked before.
    pub(crate) fn choose_for(&self, name: &str, before: Option<Place>, now: Micros) -> Option<Place> {
        let group = self.group_for(name);
        let before = before.and_then(|place| place.checked_sub(group.first));
        Some(group.first + group.upstreams.choose_for(name, before, now)?)
    }

    /// The same where some servers have answered with an error.
    pub(crate) fn choose_unrefused(&self, name: &str, refused: Refusals, now: Micros) -> Option<Place> {
        let group = self.group_for(name);
        Some(group.first + group.upstreams.choose_unrefused(refused, now)?)
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of the group that is asked about a name.
    pub(crate) fn group_number(&self, name: &str) -> usize {
        if self.groups.len() == 1 { 0 } else { self.zones.find_text(name).copied().unwrap_or(0) }
    }

    /// The place of a server among those of its group.
    pub(crate) fn place_in_group(&self, place: Place) -> Place {
        place - self.group_of(place).first
    }

    /// Whether a server is one of those for names in no zone.
    pub(crate) fn is_public(&self, place: Place) -> bool {
        self.number_of(place) == 0
    }

    /// Who is asked there.
    pub(crate) fn server(&self, place: Place) -> Option<&Nameserver> {
        let group = self.group_of(place);
        group.upstreams.server(place - group.first)
    }

    /// How long a try of this server is waited for; see [`Upstreams::waits`].
    pub(crate) fn waits(&self, place: Place, number: u32, is_last: bool) -> (Micros, Micros) {
        let group = self.group_of(place);
        group.upstreams.waits(place - group.first, number, is_last)
    }

    /// Whether a server's loss exceeds the baseline of dead names (congestion).
    pub(crate) fn is_crowded(&self, place: Place, now: Micros) -> bool {
        let group = self.group_of(place);
        group.upstreams.is_crowded(place - group.first, now)
    }

    /// Whether there was no socket for a server just now.
    pub(crate) fn is_paused(&self, place: Place, now: Micros) -> bool {
        let group = self.group_of(place);
        group.upstreams.is_paused(place - group.first, now)
    }

    /// Why no server has room.
    pub(crate) fn why_full(&self, now: Micros) -> &str {
        let mut all = self.groups.iter().map(|group| group.upstreams.why_full(now));
        let first = all.next().unwrap_or_default();
        all.find(|why| *why != first).unwrap_or(first)
    }

    /// Changes the group of a server.
    pub(crate) fn at(&mut self, place: Place, change: impl FnOnce(&mut Upstreams, Place)) {
        let number = self.number_of(place);
        if let Some(group) = self.groups.get_mut(number) {
            change(&mut group.upstreams, place - group.first);
        }
    }

    /// What is known of each server; one that several groups have is told of once.
    pub(crate) fn figures(&self) -> Vec<UpstreamFigures> {
        let mut all: Vec<UpstreamFigures> = Vec::with_capacity(self.count());
        for (number, group) in self.groups.iter().enumerate() {
            for figures in group.upstreams.figures() {
                let known = all.iter_mut().find(|other| number > 0 && other.server == figures.server);
                match known {
                    Some(known) => known.add(&figures),
                    None => all.push(figures),
                }
            }
        }
        all
    }

    /// Whether a name is in a zone with servers of its own.
    pub(crate) fn has_zone(&self, name: &str) -> bool {
        self.groups.len() > 1 && self.zones.zone_of_text(name).is_some_and(|zone| zone != ".")
    }

    /// The group that is asked about a name.
    fn group_for(&self, name: &str) -> &Group {
        &self.groups[self.group_number(name)]
    }

    /// The group of a server.
    fn group_of(&self, place: Place) -> &Group {
        &self.groups[self.number_of(place)]
    }

    /// Its number; the first group's where there is none.
    fn number_of(&self, place: Place) -> usize {
        self.groups.iter().rposition(|group| group.first <= place).unwrap_or(0)
    }
}
