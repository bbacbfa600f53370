//! Trouble that strikes a running simnet and passes: of the resolver, of the way to the hosts, of what stands between. Switched from any thread.
//!
//! Who serves asks here what becomes of a question, a request or a connection; listeners are told when something changed
//! (`listener.rs`, `resolver.rs`). Without trouble all of this costs one relaxed load a request.

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

/// Where every name leads while a captive portal stands between: no host's address.
pub const PORTAL: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 80);

/// The portal's own name, to which it redirects.
pub const PORTAL_NAME: &str = "portal.simnet";

/// How long listeners may take to follow a change.
const SWITCH: Duration = Duration::from_secs(5);

/// The random stream by which datagrams are lost.
const LOSS: u64 = 51;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// The resolver does not answer, over UDP and TCP.
    ResolverSilent,
    /// The resolver answers SERVFAIL.
    ResolverServfail,
    /// The resolver answers NXDOMAIN.
    ResolverNxdomain,
    /// The resolver's ports are closed: ICMP port unreachable over UDP, a reset over TCP.
    ResolverRefused,
    /// The kernel refuses connections to hosts; established ones are reset.
    UplinkRefused,
    /// Attempts to connect get no answer; established connections fall silent.
    UplinkBlackHole,
    /// Connections are reset when a request has arrived.
    UplinkBroken,
    /// Requests are accepted and never answered.
    UplinkSilent,
    /// Every name leads to one address, and every request gets the same login page with 200.
    Captive,
    /// The same, but every request is redirected (302) to the portal's login page.
    CaptiveRedirect,
    /// The same, but each page has the URL that was asked for and a number in it.
    CaptiveVaried,
    /// Names lead to their hosts, and every request gets the same refusal (403) from something between.
    CaptiveRefusal,
    /// A share of DNS datagrams and of attempts to connect is lost.
    Loss,
    /// Every robots.txt answers 503.
    RobotsUnavailable,
}

impl Trouble {
    /// All of them.
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

    /// The trouble of a name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|trouble| trouble.name() == name);
        found.ok_or_else(|| Error::setting("trouble", name, Self::ALL.map(Self::name).join(", ")))
    }
}

/// What becomes of a question beyond what the world says.
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

/// What becomes of a request beyond what the world says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Befallen {
    /// Its connection is reset.
    Broken,
    /// It is never answered.
    Silent,
    /// The portal answers.
    Portal(Portal),
    /// 503, if it is for robots.txt.
    Unavailable,
}

/// What a captive portal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Portal {
    /// Its page.
    Page,
    /// A redirect to it.
    Redirect,
    /// A page that is different each time.
    Varied,
    /// A refusal.
    Refusal,
}

/// What becomes of an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Struck {
    /// It is reset.
    Reset,
    /// It falls silent, and is reset when the trouble has passed.
    Silent,
}

/// Whom a trouble strikes.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// The hosts; `None`: all, names that do not exist included.
    hosts: Option<HashSet<u32>>,
    /// Their addresses, as the ledger has them.
    addresses: HashSet<u32>,
    /// Share that is lost.
    share: f64,
}

impl Scope {
    /// Whether it strikes a host, or no host: [`NONE`].
    fn has(&self, host: u32) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
    }

    /// Whether it strikes what comes in on an address.
    fn is_at(&self, address: IpAddr) -> bool {
        self.hosts.is_none() || compact(address).is_some_and(|address| self.addresses.contains(&address))
    }

    /// Its addresses of one kind as the kernel sees their last 32 bits; `None`: all.
    fn last_words(&self) -> Option<Vec<u32>> {
        let v4 = |address: &u32| *address | 0x7f00_0000;
        self.hosts
            .as_ref()
            .map(|_| self.addresses.iter().map(v4).collect::<HashSet<_>>().into_iter().collect())
    }
}

/// What goes wrong at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Counts changes.
    pub(crate) generation: u64,
    /// Each trouble with whom it strikes.
    active: BTreeMap<Trouble, Scope>,
}

/// Attempts to connect that the kernel drops.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dropped {
    /// The last 32 bits of the addresses that are meant; `None`: all.
    pub(crate) addresses: Option<Vec<u32>>,
    /// The share that is dropped.
    pub(crate) share: f64,
}

/// Which addresses the kernel refuses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refused {
    /// None.
    None,
    /// All.
    All,
    /// These, as the ledger has them.
    Some(HashSet<u32>),
}

impl State {
    /// Whether a trouble is active.
    pub(crate) fn has(&self, trouble: Trouble) -> bool {
        self.active.contains_key(&trouble)
    }

    /// Whether a trouble strikes a host.
    fn strikes(&self, trouble: Trouble, host: u32) -> bool {
        self.active.get(&trouble).is_some_and(|scope| scope.has(host))
    }

    /// What becomes of an established connection to an address.
    pub(crate) fn strikes_connection(&self, address: IpAddr) -> Option<Struck> {
        let is_at = |trouble| self.active.get(&trouble).is_some_and(|scope| scope.is_at(address));
        match () {
            () if is_at(Trouble::UplinkRefused) => Some(Struck::Reset),
            () if is_at(Trouble::UplinkBlackHole) => Some(Struck::Silent),
            () => None,
        }
    }

    /// What becomes of a request for a host, or for none: [`NONE`].
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

    /// Which addresses refuse connections.
    pub(crate) fn refused(&self) -> Refused {
        match self.active.get(&Trouble::UplinkRefused) {
            None => Refused::None,
            Some(Scope { hosts: None, .. }) => Refused::All,
            Some(scope) => Refused::Some(scope.addresses.clone()),
        }
    }

    /// Which attempts to connect the kernel drops.
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
    /// Whether there is any: what is asked first, and all that is asked without.
    any: AtomicBool,
    /// What goes wrong now.
    state: watch::Sender<Arc<State>>,
    /// Datagrams so far that could be lost.
    datagrams: AtomicU64,
    /// The generation that each listener has followed.
    followed: Mutex<Vec<u64>>,
    /// Tells that a listener followed.
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
    /// Begins a trouble for some hosts (`None`: all); of one that there is, the hosts and the share change.
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

    /// Ends a trouble, or all.
    pub(crate) fn end(&self, trouble: Option<Trouble>) -> Result<()> {
        self.change(|active| active.retain(|&one, _| trouble.is_some_and(|trouble| trouble != one)))
    }

    /// Changes what goes wrong and waits until every listener has followed.
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
                return Err(Error::system("waiting for the listeners to follow a change of trouble", late));
            }
            followed = self.told.wait_timeout(followed, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// A number for a listener that follows.
    pub(crate) fn follow(&self) -> usize {
        let mut followed = self.lock();
        followed.push(0);
        followed.len() - 1
    }

    /// Notes that a listener has followed a change.
    pub(crate) fn followed(&self, listener: usize, generation: u64) {
        if let Some(done) = self.lock().get_mut(listener) {
            *done = generation;
        }
        self.told.notify_all();
    }

    /// Nobody listens any more: nobody is waited for.
    pub(crate) fn stop(&self) {
        self.lock().clear();
    }

    /// Who wants to know of changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<State>> {
        self.state.subscribe()
    }

    /// What becomes of a question about a host, or about none; `None` is as the world says.
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

    /// What becomes of a request for a host, or for none; `None` is as the world says.
    pub(crate) fn befalls(&self, host: Option<u32>) -> Option<Befallen> {
        self.state()?.befalls(host.unwrap_or(NONE))
    }

    /// Returns when a change strikes connections to an address, with what becomes of them.
    pub(crate) async fn strikes(&self, address: IpAddr) -> Struck {
        let mut changes = self.watch();
        loop {
            if let Some(struck) = changes.borrow_and_update().strikes_connection(address) {
                return struck;
            }
            // An error means that the simnet is gone, and this with it.
            if changes.changed().await.is_err() {
                return Struck::Reset;
            }
        }
    }

    /// Returns when nothing keeps connections to an address, or requests for a host, silent.
    pub(crate) async fn pass(&self, address: IpAddr, host: Option<u32>) {
        let mut changes = self.watch();
        let silent = |state: &Arc<State>| {
            state.strikes_connection(address) == Some(Struck::Silent)
                || state.befalls(host.unwrap_or(NONE)) == Some(Befallen::Silent)
        };
        // An error means that the simnet is gone, and this with it.
        let _ = changes.wait_for(|state| !silent(state)).await;
    }

    /// What goes wrong now, if anything.
    fn state(&self) -> Option<Arc<State>> {
        self.any.load(Ordering::Acquire).then(|| self.state.borrow().clone())
    }

    /// Locks; a thread that died while it held the lock left whole numbers.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u64>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
