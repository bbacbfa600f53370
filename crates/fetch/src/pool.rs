//! Idle kept-alive connections.
//!
//! Guarantees: a connection is reused only for a request of its origin by its route: a direct one whose permitted
//! addresses contain the connection's, or the same proxy; none is idle for longer than the time-out; never more than `capacity` are idle.

use std::collections::HashMap;
use std::net::IpAddr;

use lycosa_records::Route;
use lycosa_url::Micros;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connection::Connection;

/// Idle connections by origin (scheme, host and port as in the canonical URL).
pub(crate) struct Pool<C> {
    capacity: usize,
    timeout: Micros,
    count: usize,
    /// Time of the last look at all of them.
    looked: Micros,
    idle: HashMap<Box<str>, Vec<Idle<C>>>,
}

/// The time in microseconds after which an idle connection drops its buffers: most are used again before that, or much later.
const REST_AFTER: Micros = 1_000_000;

/// A connection and since when it is idle.
struct Idle<C> {
    connection: C,
    rests: bool,
    /// The route that it was opened by.
    route: Route,
    since: Micros,
}

/// Whether a connection that was opened by the route `known` reaches the site as a request by the route `wanted` must.
pub(crate) fn serves(known: &Route, address: IpAddr, wanted: &Route) -> bool {
    match (known, wanted) {
        (Route::Direct(_), Route::Direct(addresses)) => addresses.contains(&address),
        (Route::Proxy { name, .. }, Route::Proxy { name: wanted, .. }) => name == wanted,
        (known, wanted) => known == wanted,
    }
}

/// What is stored of the route of a connection: no addresses, since the connection has the one.
pub(crate) fn kept_route(route: &Route) -> Route {
    match route {
        Route::Browser(_) => route.clone(),
        Route::Direct(_) | Route::Proxy { .. } => Route::default().by(route.proxy()),
    }
}

/// A connection that the pool can store.
pub(crate) trait Pooled {
    /// The server's address.
    fn address(&self) -> IpAddr;
    /// Whether it is still open.
    fn is_reusable(&mut self) -> bool;
    /// Drops its buffers.
    fn rest(&mut self);
}

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Pooled for Connection<S> {
    fn address(&self) -> IpAddr {
        self.address
    }

    fn is_reusable(&mut self) -> bool {
        Connection::is_reusable(self)
    }

    fn rest(&mut self) {
        Connection::rest(self);
    }
}

impl<C: Pooled> Pool<C> {
    /// An empty pool.
    pub(crate) fn new(capacity: usize, timeout: Micros) -> Self {
        Pool { capacity, timeout, count: 0, looked: 0, idle: HashMap::new() }
    }

    /// The number of idle connections.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Removes and returns the most recently used connection, which is the most likely to be open.
    pub(crate) fn take(&mut self, origin: &str, route: &Route, now: Micros) -> Option<C> {
        let idle = self.idle.get_mut(origin)?;
        while let Some(place) =
            idle.iter().rposition(|idle| serves(&idle.route, idle.connection.address(), route))
        {
            let mut found = idle.remove(place);
            self.count -= 1;
            if now.saturating_sub(found.since) < self.timeout && found.connection.is_reusable() {
                return Some(found.connection);
            }
        }
        None
    }

    /// Stores an idle connection. If the pool is full, the connection is closed: the others expire soon.
    pub(crate) fn park(&mut self, origin: &str, route: &Route, connection: C, now: Micros) {
        if self.count >= self.capacity {
            return;
        }
        self.count += 1;
        let idle = Idle { connection, rests: false, route: kept_route(route), since: now };
        match self.idle.get_mut(origin) {
            Some(others) => others.push(idle),
            None => {
                self.idle.insert(origin.into(), vec![idle]);
            }
        }
    }

    /// Closes expired connections and removes origins without a connection; lets the others rest. Looks at them from time to time
    /// only: there may be many thousands.
    pub(crate) fn expire(&mut self, now: Micros) {
        let timeout = self.timeout;
        if now.saturating_sub(self.looked) < (timeout / 8).min(REST_AFTER) {
            return;
        }
        self.looked = now;
        self.idle.retain(|_, idle| {
            idle.retain(|idle| now.saturating_sub(idle.since) < timeout);
            for idle in
                idle.iter_mut().filter(|idle| !idle.rests && now.saturating_sub(idle.since) >= REST_AFTER)
            {
                idle.connection.rest();
                idle.rests = true;
            }
            !idle.is_empty()
        });
        self.count = self.idle.values().map(Vec::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Fake(u8, bool);

    impl Pooled for Fake {
        fn address(&self) -> IpAddr {
            address(self.0)
        }
        fn is_reusable(&mut self) -> bool {
            self.1
        }
        fn rest(&mut self) {}
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn direct(addresses: &[u8]) -> Route {
        Route::Direct(addresses.iter().copied().map(address).collect())
    }

    #[test]
    fn a_connection_by_a_proxy_serves_no_other_route() {
        let [one, other] = ["one", "other"].map(|name| direct(&[1]).by(Some(name)));
        let mut pool = Pool::new(10, 100);
        pool.park("http://a", &one, Fake(1, true), 0);
        assert_eq!(pool.take("http://a", &direct(&[1]), 1), None);
        assert_eq!(pool.take("http://a", &other, 1), None);
        assert_eq!(pool.take("http://a", &one, 1), Some(Fake(1, true)));
        pool.park("http://a", &direct(&[1]), Fake(1, true), 1);
        assert_eq!(pool.take("http://a", &one, 2), None);
        assert_eq!(pool.take("http://a", &direct(&[1]), 2), Some(Fake(1, true)));
    }

    #[test]
    fn only_a_vetted_address_of_the_same_origin_is_reused() {
        let mut pool = Pool::new(10, 100);
        pool.park("http://a", &direct(&[]), Fake(1, true), 0);
        assert_eq!(pool.take("http://b", &direct(&[1]), 1), None);
        assert_eq!(pool.take("http://a", &direct(&[2]), 1), None);
        assert_eq!(pool.take("http://a", &direct(&[2, 1]), 1), Some(Fake(1, true)));
        assert_eq!(pool.take("http://a", &direct(&[1]), 1), None);
    }

    #[test]
    fn dead_and_old_ones_are_dropped() {
        let mut pool = Pool::new(10, 100);
        pool.park("http://a", &direct(&[]), Fake(1, true), 0);
        pool.park("http://a", &direct(&[]), Fake(1, false), 50);
        assert_eq!(pool.take("http://a", &direct(&[1]), 100), None);
        assert_eq!(pool.len(), 0);
        pool.park("http://a", &direct(&[]), Fake(1, true), 0);
        pool.park("http://b", &direct(&[]), Fake(1, true), 60);
        pool.expire(100);
        assert_eq!((pool.len(), pool.idle.len()), (1, 1));
    }

    #[test]
    fn the_capacity_holds() {
        let mut pool = Pool::new(1, 100);
        pool.park("http://a", &direct(&[]), Fake(1, true), 0);
        pool.park("http://b", &direct(&[]), Fake(2, true), 0);
        assert_eq!(pool.take("http://b", &direct(&[2]), 1), None);
        assert_eq!(pool.len(), 1);
    }
}
