//! Trouble: faults injected into a running simnet, of the resolver, the uplink or a captive portal. Any thread can start and end them.
//!
//! The serving code asks here for the effect on a DNS question, a request or a connection; listeners are notified of changes
//! (`listener.rs`, `resolver.rs`). Without trouble, this costs one atomic load per request.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::ledger::NONE;
use crate::random::Rng;
use crate::secure::compact;
use crate::world::World;

/// Address that every name resolves to behind a captive portal; no host has it.
pub const PORTAL: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 80);

/// Host name of the portal, the target of its redirects.
pub const PORTAL_NAME: &str = "portal.simnet";

/// Deadline for listeners to apply a change.
const SWITCH: Duration = Duration::from_secs(5);

/// Purpose of the random stream for lost datagrams.
const LOSS: u64 = 51;

/// A kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// The resolver does not answer, over UDP and TCP.
    ResolverSilent,
    /// The resolver answers SERVFAIL.
    ResolverServfail,
    /// The resolver answers NXDOMAIN.
    ResolverNxdomain,
    /// The resolver's ports are closed: ICMP port unreachable for UDP, a reset for TCP.
    ResolverRefused,
    /// The kernel refuses connections to hosts; established ones are reset.
    UplinkRefused,
    /// Connection attempts get no reply; established connections become silent.
    UplinkBlackHole,
    /// Connections are reset when a request arrives.
    UplinkBroken,
    /// Requests are accepted but never answered.
    UplinkSilent,
    /// Every name resolves to one address, and every request gets the same login page with 200.
    Captive,
    /// Like `Captive`, but every request is redirected (302) to the portal's login page.
    CaptiveRedirect,
    /// Like `Captive`, but each page contains the requested URL and a number.
    CaptiveVaried,
    /// Names resolve normally, and every request gets the same 403 from a middlebox.
    CaptiveRefusal,
    /// A share of DNS datagrams and of connection attempts is lost.
    Loss,
    /// Every robots.txt returns 503.
    RobotsUnavailable,
}

impl Trouble {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::ResolverSilent,
        Self::ResolverServfail,
        Self::ResolverNxdomain,
        Self::ResolverRefused,
        Self::UplinkRefused,
        Self::UplinkBlackHole,
        Self::UplinkBroken,
        Self::UplinkSilent,
        Self::Captive,
        Self::CaptiveRedirect,
        Self::CaptiveVaried,
        Self::CaptiveRefusal,
        Self::Loss,
        Self::RobotsUnavailable,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ResolverSilent => "resolver-silent",
            Self::ResolverServfail => "resolver-servfail",
            Self::ResolverNxdomain => "resolver-nxdomain",
            Self::ResolverRefused => "resolver-refused",
            Self::UplinkRefused => "uplink-refused",
            Self::UplinkBlackHole => "uplink-black-hole",
            Self::UplinkBroken => "uplink-broken",
            Self::UplinkSilent => "uplink-silent",
            Self::Captive => "captive",
            Self::CaptiveRedirect => "captive-redirect",
            Self::CaptiveVaried => "captive-varied",
            Self::CaptiveRefusal => "captive-refusal",
            Self::Loss => "loss",
            Self::RobotsUnavailable => "robots-unavailable",
        }
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|trouble| trouble.name() == name);
        found.ok_or_else(|| Error::setting("trouble", name, Self::ALL.map(Self::name).join(", ")))
    }
}

/// Effect on a DNS question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// No answer.
    Nothing,
    /// SERVFAIL.
    Failure,
    /// NXDOMAIN.
    NoName,
    /// The portal's address.
    Portal,
}

/// Effect on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Befallen {
    /// Its connection is reset.
    Broken,
    /// It is never answered.
    Silent,
    /// The portal responds.
    Portal(Portal),
    /// 503, if it is for robots.txt.
    Unavailable,
}

/// Response of a captive portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Portal {
    /// Its login page.
    Page,
    /// A redirect to its login page.
    Redirect,
    /// A page that is different each time.
    Varied,
    /// A 403.
    Refusal,
}

/// Effect on an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Struck {
    /// It is reset.
    Reset,
    /// It becomes silent, and is reset when the trouble ends.
    Silent,
}

/// Hosts that a trouble affects.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// The hosts; `None` for all, including unknown names.
    hosts: Option<HashSet<u32>>,
    /// Their addresses, in the ledger's format.
    addresses: HashSet<u32>,
    /// Share of lost packets.
    share: f64,
}

impl Scope {
    /// Whether it affects a host, or unknown names ([`NONE`]).
    fn has(&self, host: u32) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
    }

    /// Whether it affects connections to an address.
    fn is_at(&self, address: IpAddr) -> bool {
        self.hosts.is_none() || compact(address).is_some_and(|address| self.addresses.contains(&address))
    }

    /// The last 32 bits of its addresses, as in packet headers; `None` for all.
    fn last_words(&self) -> Option<Vec<u32>> {
        let v4 = |address: &u32| *address | 0x7f00_0000;
        self.hosts
            .as_ref()
            .map(|_| self.addresses.iter().map(v4).collect::<HashSet<_>>().into_iter().collect())
    }
}

/// The active troubles.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Number of changes so far.
    pub(crate) generation: u64,
    /// Active troubles and the hosts they affect.
    active: BTreeMap<Trouble, Scope>,
}

/// Connection attempts that the kernel drops.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dropped {
    /// The last 32 bits of the destination addresses; `None` for all.
    pub(crate) addresses: Option<Vec<u32>>,
    /// The share that is dropped.
    pub(crate) share: f64,
}

/// Addresses at which the kernel refuses connections.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refused {
    /// None.
    None,
    /// All.
    All,
    /// These, in the ledger's format.
    Some(HashSet<u32>),
}

impl State {
    /// Whether a trouble is active.
    pub(crate) fn has(&self, trouble: Trouble) -> bool {
        self.active.contains_key(&trouble)
    }

    /// Whether a trouble affects a host.
    fn strikes(&self, trouble: Trouble, host: u32) -> bool {
        self.active.get(&trouble).is_some_and(|scope| scope.has(host))
    }

    /// Effect on an established connection to an address.
    pub(crate) fn strikes_connection(&self, address: IpAddr) -> Option<Struck> {
        let is_at = |trouble| self.active.get(&trouble).is_some_and(|scope| scope.is_at(address));
        match () {
            () if is_at(Trouble::UplinkRefused) => Some(Struck::Reset),
            () if is_at(Trouble::UplinkBlackHole) => Some(Struck::Silent),
            () => None,
        }
    }

    /// Effect on a request to a host, or to an unknown one ([`NONE`]).
    fn befalls(&self, host: u32) -> Option<Befallen> {
        let found = [
            (Trouble::UplinkBroken, Befallen::Broken),
            (Trouble::UplinkSilent, Befallen::Silent),
            (Trouble::Captive, Befallen::Portal(Portal::Page)),
            (Trouble::CaptiveRedirect, Befallen::Portal(Portal::Redirect)),
            (Trouble::CaptiveVaried, Befallen::Portal(Portal::Varied)),
            (Trouble::CaptiveRefusal, Befallen::Portal(Portal::Refusal)),
            (Trouble::RobotsUnavailable, Befallen::Unavailable),
        ];
        found.into_iter().find(|&(trouble, _)| self.strikes(trouble, host)).map(|(_, befallen)| befallen)
    }

    /// Addresses that refuse connections.
    pub(crate) fn refused(&self) -> Refused {
        match self.active.get(&Trouble::UplinkRefused) {
            None => Refused::None,
            Some(Scope { hosts: None, .. }) => Refused::All,
            Some(scope) => Refused::Some(scope.addresses.clone()),
        }
    }

    /// Connection attempts that the kernel drops.
    pub(crate) fn dropped(&self) -> Vec<Dropped> {
        let of = |trouble, share: fn(&Scope) -> f64| {
            let scope = self.active.get(&trouble)?;
            Some(Dropped { addresses: scope.last_words(), share: share(scope) })
        };
        [of(Trouble::UplinkBlackHole, |_| 1.0), of(Trouble::Loss, |scope| scope.share)]
            .into_iter()
            .flatten()
            .collect()
    }
}

/// The troubles of a running simnet.
pub(crate) struct Troubles {
    /// Whether any trouble is active; checked first, so that the normal case is cheap.
    any: AtomicBool,
    /// The active troubles.
    state: watch::Sender<Arc<State>>,
    /// Number of datagrams so far that were subject to loss.
    datagrams: AtomicU64,
    /// The last generation that each listener has applied.
    followed: Mutex<Vec<u64>>,
    /// Notifies that a listener has applied a change.
    told: Condvar,
}

impl Default for Troubles {
    fn default() -> Self {
        Self {
            any: AtomicBool::new(false),
            state: watch::Sender::new(Arc::default()),
            datagrams: AtomicU64::new(0),
            followed: Mutex::default(),
            told: Condvar::new(),
        }
    }
}

impl Troubles {
    /// Starts a trouble for some hosts (`None` for all), or changes the hosts and the share of an active one.
    pub(crate) fn begin(
        &self,
        world: &World,
        trouble: Trouble,
        hosts: Option<&[u32]>,
        share: f64,
    ) -> Result<()> {
        let addresses = hosts.unwrap_or_default().iter().flat_map(|&host| {
            let v6 = world.address6(host).map(IpAddr::V6);
            [Some(IpAddr::V4(world.address(host))), v6].into_iter().flatten().filter_map(compact)
        });
        let scope = Scope {
            addresses: addresses.collect(),
            hosts: hosts.map(|hosts| hosts.iter().copied().collect()),
            share,
        };
        self.change(|active| drop(active.insert(trouble, scope)))
    }

    /// Ends a trouble; `None` ends all.
    pub(crate) fn end(&self, trouble: Option<Trouble>) -> Result<()> {
        self.change(|active| active.retain(|&one, _| trouble.is_some_and(|trouble| trouble != one)))
    }

    /// Changes the active troubles and waits until every listener has applied the change.
    fn change(&self, edit: impl FnOnce(&mut BTreeMap<Trouble, Scope>)) -> Result<()> {
        let mut generation = 0;
        self.state.send_modify(|state| {
            let mut next = State::clone(state);
            edit(&mut next.active);
            next.generation += 1;
            generation = next.generation;
            self.any.store(!next.active.is_empty(), Ordering::Release);
            *state = Arc::new(next);
        });
        let (until, mut followed) = (Instant::now() + SWITCH, self.lock());
        while followed.iter().any(|&done| done < generation) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
                return Err(Error::system("waiting for the listeners to apply a change of trouble", late));
            }
            followed = self.told.wait_timeout(followed, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Registers a listener and returns its number.
    pub(crate) fn follow(&self) -> usize {
        let mut followed = self.lock();
        followed.push(0);
        followed.len() - 1
    }

    /// Records that a listener has applied a change.
    pub(crate) fn followed(&self, listener: usize, generation: u64) {
        if let Some(done) = self.lock().get_mut(listener) {
            *done = generation;
        }
        self.told.notify_all();
    }

    /// Unregisters all listeners, so that changes no longer wait for them.
    pub(crate) fn stop(&self) {
        self.lock().clear();
    }

    /// Subscribes to changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<State>> {
        self.state.subscribe()
    }

    /// Effect on a DNS question about a host, or for an unknown name; `None` for no effect.
    pub(crate) fn asks(&self, seed: u64, host: u32, tcp: bool) -> Option<Asked> {
        let state = self.state()?;
        if state.strikes(Trouble::ResolverSilent, host) {
            return Some(Asked::Nothing);
        }
        if let Some(scope) = state.active.get(&Trouble::Loss).filter(|scope| !tcp && scope.has(host)) {
            let n = self.datagrams.fetch_add(1, Ordering::Relaxed);
            if Rng::new(seed, LOSS, n, 0).share(scope.share) {
                return Some(Asked::Nothing);
            }
        }
        let found = [
            (Trouble::ResolverServfail, Asked::Failure),
            (Trouble::ResolverNxdomain, Asked::NoName),
            (Trouble::Captive, Asked::Portal),
            (Trouble::CaptiveRedirect, Asked::Portal),
            (Trouble::CaptiveVaried, Asked::Portal),
        ];
        found.into_iter().find(|&(trouble, _)| state.strikes(trouble, host)).map(|(_, asked)| asked)
    }

    /// Effect on a request to a host, or to an unknown one; `None` for no effect.
    pub(crate) fn befalls(&self, host: Option<u32>) -> Option<Befallen> {
        self.state()?.befalls(host.unwrap_or(NONE))
    }

    /// Waits until a trouble affects connections to an address, and returns the effect.
    pub(crate) async fn strikes(&self, address: IpAddr) -> Struck {
        let mut changes = self.watch();
        loop {
            if let Some(struck) = changes.borrow_and_update().strikes_connection(address) {
                return struck;
            }
            // An error means that the simnet has been dropped.
            if changes.changed().await.is_err() {
                return Struck::Reset;
            }
        }
    }

    /// Waits until no trouble keeps connections to an address, or requests to a host, silent.
    pub(crate) async fn pass(&self, address: IpAddr, host: Option<u32>) {
        let mut changes = self.watch();
        let silent = |state: &Arc<State>| {
            state.strikes_connection(address) == Some(Struck::Silent)
                || state.befalls(host.unwrap_or(NONE)) == Some(Befallen::Silent)
        };
        // An error means that the simnet has been dropped.
        let _ = changes.wait_for(|state| !silent(state)).await;
    }

    /// The active troubles; `None` if there are none.
    fn state(&self) -> Option<Arc<State>> {
        self.any.load(Ordering::Acquire).then(|| self.state.borrow().clone())
    }

    /// Locks, ignoring poison: a thread that panicked left only complete numbers.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
