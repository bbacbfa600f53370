//! The servers for all names and those for the names of some zones; each group chooses among its own.

use lycosa_url::Micros;

use super::{Pace, Place, Upstreams};
use crate::asked::Refusals;
use crate::nameserver::Nameserver;
use crate::settings::{Settings, UpstreamFigures};
use crate::zones::ZoneTable;

/// All servers, numbered across all groups.
pub(crate) struct UpstreamGroups {
    /// The first group serves all names outside the zones.
    groups: Vec<Group>,
    /// The index of each zone's group.
    zones: ZoneTable<usize>,
}

/// The servers of one group.
struct Group {
    /// The index of its first server.
    first: Place,
    upstreams: Upstreams,
}

impl UpstreamGroups {
    /// Creates the servers of the settings.
    pub(crate) fn new(settings: &Settings) -> Self {
        // A server in several groups has one pace.
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

    /// The number of servers.
    pub(crate) fn count(&self) -> usize {
        self.groups.iter().map(|group| group.upstreams.count()).sum()
    }

    /// The number of errors after which a question that was sent to this server fails: one from each reachable
    /// server; a single one if names are spread, since that server has tried all it could.
    pub(crate) fn believed(&self, place: Place, now: Micros) -> usize {
        let upstreams = &self.group_of(place).upstreams;
        if upstreams.is_spread() { 1 } else { upstreams.reached(now) }
    }

    /// Whether a server is unreachable and may be restarting.
    pub(crate) fn is_gone(&self, place: Place, now: Micros) -> bool {
        let group = self.group_of(place);
        group.upstreams.is_gone(place - group.first, now)
    }

    /// Whether each name has its own server in the group of this one.
    pub(crate) fn is_spread(&self, place: Place) -> bool {
        self.group_of(place).upstreams.is_spread()
    }

    /// The next server to query for a name, if possible not `before`.
    pub(crate) fn choose_for(&self, name: &str, before: Option<Place>, now: Micros) -> Option<Place> {
        let group = self.group_for(name);
        let before = before.and_then(|place| place.checked_sub(group.first));
        Some(group.first + group.upstreams.choose_for(name, before, now)?)
    }

    /// The same after some servers answered with an error.
    pub(crate) fn choose_unrefused(&self, name: &str, refused: Refusals, now: Micros) -> Option<Place> {
        let group = self.group_for(name);
        Some(group.first + group.upstreams.choose_unrefused(refused, now)?)
    }

    /// The number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The index of the group that serves a name.
    pub(crate) fn group_number(&self, name: &str) -> usize {
        if self.groups.len() == 1 { 0 } else { self.zones.find_text(name).copied().unwrap_or(0) }
    }

    /// A server's index within its group.
    pub(crate) fn place_in_group(&self, place: Place) -> Place {
        place - self.group_of(place).first
    }

    /// Whether a server serves names outside the zones.
    pub(crate) fn is_public(&self, place: Place) -> bool {
        self.number_of(place) == 0
    }

    /// The server at an index.
    pub(crate) fn server(&self, place: Place) -> Option<&Nameserver> {
        let group = self.group_of(place);
        group.upstreams.server(place - group.first)
    }

    /// How long to wait for a try of this server; see [`Upstreams::waits`].
    pub(crate) fn waits(&self, place: Place, number: u32, is_last: bool) -> (Micros, Micros) {
        let group = self.group_of(place);
        group.upstreams.waits(place - group.first, number, is_last)
    }

    /// Whether a server's loss exceeds the share that silent names explain (congestion).
    pub(crate) fn is_crowded(&self, place: Place, now: Micros) -> bool {
        let group = self.group_of(place);
        group.upstreams.is_crowded(place - group.first, now)
    }

    /// Whether a server is paused, since no socket was available for it.
    pub(crate) fn is_paused(&self, place: Place, now: Micros) -> bool {
        let group = self.group_of(place);
        group.upstreams.is_paused(place - group.first, now)
    }

    /// Why no server has a free slot.
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

    /// Figures of each server; those of a server in several groups are added up.
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

    /// The group that serves a name.
    fn group_for(&self, name: &str) -> &Group {
        &self.groups[self.group_number(name)]
    }

    /// The group of a server.
    fn group_of(&self, place: Place) -> &Group {
        &self.groups[self.number_of(place)]
    }

    /// The index of a server's group.
    fn number_of(&self, place: Place) -> usize {
        self.groups.iter().rposition(|group| group.first <= place).unwrap_or(0)
    }
}
