//! Connects to the first of several addresses that accepts (Happy Eyeballs, RFC 8305).
//!
//! The families of addresses take turns. An attempt begins when the one before has failed, or has lasted for [`ATTEMPT_DELAY`]; all
//! go on until one succeeds. So an address that does not answer costs a quarter of a second and not the time-out.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use lycosa_url::{Clock, Failure, FailureKind, Micros};
use nix::errno::Errno;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// The time after which another address is tried as well (RFC 8305 section 8).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The number of addresses that are tried: more of one host are no better.
const MAX_ATTEMPTS: usize = 8;

/// A connection, its address, and the time when its attempt began.
pub(crate) type Connected = (TcpStream, IpAddr, Micros);

/// Why no address could be connected to, and whether the cause is here: a resource that this machine lacks, or its network.
#[derive(Debug)]
pub(crate) struct Unconnected {
    pub(crate) failure: Failure,
    pub(crate) is_ours: bool,
}

impl From<Unconnected> for Failure {
    fn from(unconnected: Unconnected) -> Self {
        unconnected.failure
    }
}

/// An attempt that is under way.
type Attempt = Pin<Box<dyn Future<Output = (IpAddr, Micros, io::Result<TcpStream>)>>>;

/// What happened next.
enum Event {
    Ended(usize, (IpAddr, Micros, io::Result<TcpStream>)),
    Late,
    Deadline,
}

/// Connects within the time; fails with the most telling failure of all addresses.
pub(crate) async fn connect(
    addresses: &[IpAddr],
    port: u16,
    within: Duration,
    clock: Clock,
) -> Result<Connected, Unconnected> {
    let mut next = in_turns(addresses).into_iter().take(MAX_ATTEMPTS);
    let mut attempts: Vec<(IpAddr, Attempt)> = Vec::new();
    let mut failures = Vec::new();
    let (mut deadline, mut late) = (pin!(sleep(within)), pin!(sleep(ATTEMPT_DELAY)));
    loop {
        if let Some(address) = next.next() {
            attempts.push((address, Box::pin(attempt(address, port, clock))));
            late.as_mut().reset(Instant::now() + ATTEMPT_DELAY);
        }
        if attempts.is_empty() {
            return Err(most_telling(failures));
        }
        let event = poll_fn(|context| {
            for (place, (_, attempt)) in attempts.iter_mut().enumerate() {
                if let Poll::Ready(ended) = attempt.as_mut().poll(context) {
                    return Poll::Ready(Event::Ended(place, ended));
                }
            }
            if deadline.as_mut().poll(context).is_ready() {
                return Poll::Ready(Event::Deadline);
            }
            if next.len() > 0 && late.as_mut().poll(context).is_ready() {
                return Poll::Ready(Event::Late);
            }
            Poll::Pending
        });
        match event.await {
            Event::Ended(_, (address, began, Ok(stream))) => return Ok((stream, address, began)),
            Event::Ended(place, (address, _, Err(error))) => {
                drop(attempts.swap_remove(place));
                failures.push(connect_failure(&error, address));
            }
            Event::Late => {}
            Event::Deadline => {
                let timed_out = |address| format!("{address}: timed out");
                failures.extend(attempts.iter().map(|(address, _)| Unconnected {
                    failure: Failure::new(FailureKind::ConnectTimeout, timed_out(address)),
                    is_ours: false,
                }));
                return Err(most_telling(failures));
            }
        }
    }
}

/// One attempt.
async fn attempt(address: IpAddr, port: u16, clock: Clock) -> (IpAddr, Micros, io::Result<TcpStream>) {
    let began = clock.now();
    (address, began, TcpStream::connect(SocketAddr::new(address, port)).await)
}

/// The addresses with both families in turns, that of the first one leading (RFC 8305 section 4).
fn in_turns(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let leads =
        |address: &&IpAddr| addresses.first().is_some_and(|first| first.is_ipv4() == address.is_ipv4());
    let (leading, other): (Vec<&IpAddr>, Vec<&IpAddr>) = addresses.iter().partition(leads);
    let mut others = other.into_iter();
    let mut turns: Vec<IpAddr> = Vec::with_capacity(addresses.len());
    for address in leading {
        turns.push(*address);
        turns.extend(others.next());
    }
    turns.extend(others);
    turns
}

/// The failure that says most about the site, the first of equal ones. A refusal is an answer, silence is none; what this machine
/// lacked, or a network that it cannot reach (IPv6 where it has none), says nothing. A failure of TLS is no matter of several
/// addresses: no other is tried after it.
fn most_telling(failures: Vec<Unconnected>) -> Unconnected {
    let rank = |told: &Unconnected| match told.failure.kind {
        FailureKind::ConnectRefused => 0,
        FailureKind::ConnectTimeout => 1,
        FailureKind::LocalFailure => 2,
        _ => 3,
    };
    let told = failures.into_iter().min_by_key(rank);
    told.unwrap_or_else(|| Unconnected {
        failure: Failure::new(FailureKind::ConnectFailed, "no address"),
        is_ours: false,
    })
}

/// Converts an error of connect.
pub(crate) fn connect_failure(error: &io::Error, address: IpAddr) -> Unconnected {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionRefused => FailureKind::ConnectRefused,
        io::ErrorKind::TimedOut => FailureKind::ConnectTimeout,
        _ if is_shortage(error) => FailureKind::LocalFailure,
        _ => FailureKind::ConnectFailed,
    };
    let is_ours = kind == FailureKind::LocalFailure || is_one(error, &[Errno::ENETUNREACH, Errno::ENETDOWN]);
    Unconnected { failure: Failure::new(kind, format!("{address}: {error}")), is_ours }
}

/// Whether this machine lacked a resource: file descriptors, ports, memory, buffers.
fn is_shortage(error: &io::Error) -> bool {
    const SHORTAGES: [Errno; 5] =
        [Errno::EMFILE, Errno::ENFILE, Errno::EADDRNOTAVAIL, Errno::ENOMEM, Errno::ENOBUFS];
    is_one(error, &SHORTAGES)
}

/// Whether an error of the system is one of these.
fn is_one(error: &io::Error, numbers: &[Errno]) -> bool {
    error.raw_os_error().is_some_and(|number| numbers.contains(&Errno::from_raw(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_failures_the_most_telling_one_is_told_whatever_their_order() {
        use FailureKind as K;
        let told = |kinds: &[FailureKind]| {
            let place = |(place, kind): (usize, &FailureKind)| Unconnected {
                failure: Failure::new(*kind, place.to_string()),
                is_ours: false,
            };
            most_telling(kinds.iter().enumerate().map(place).collect()).failure
        };
        let ranked = [K::ConnectRefused, K::ConnectTimeout, K::LocalFailure, K::ConnectFailed];
        for (place, &more) in ranked.iter().enumerate() {
            for &less in &ranked[place..] {
                assert_eq!((told(&[more, less]).kind, told(&[less, more]).kind), (more, more));
            }
        }
        let first = told(&[K::ConnectFailed, K::ConnectRefused, K::ConnectRefused, K::ConnectTimeout]);
        assert_eq!((first.kind, &*first.detail), (K::ConnectRefused, "1"));
        assert_eq!(told(&[]).kind, K::ConnectFailed);
    }

    #[test]
    fn what_this_machine_lacks_is_told_apart_from_what_is_at_the_address() {
        for (number, is_ours) in [
            (Errno::EMFILE, true),
            (Errno::ENETUNREACH, true),
            (Errno::EHOSTUNREACH, false),
            (Errno::ECONNREFUSED, false),
        ] {
            let error = io::Error::from_raw_os_error(number as i32);
            assert_eq!(connect_failure(&error, [192, 0, 2, 1].into()).is_ours, is_ours, "{number}");
        }
    }

    #[test]
    fn the_families_take_turns_and_each_address_is_tried_once() {
        let turns = |texts: &[&str]| {
            let addresses: Vec<IpAddr> = texts.iter().map(|text| text.parse().unwrap()).collect();
            in_turns(&addresses).iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(turns(&["1.1.1.1", "1.1.1.2", "1.1.1.3", "::1"]), "1.1.1.1 ::1 1.1.1.2 1.1.1.3");
        assert_eq!(turns(&["::1", "::2", "1.1.1.1", "1.1.1.2"]), "::1 1.1.1.1 ::2 1.1.1.2");
        assert_eq!(turns(&["::1", "1.1.1.1", "1.1.1.2"]), "::1 1.1.1.1 1.1.1.2");
        assert_eq!(turns(&["::1"]), "::1");
        assert_eq!(turns(&[]), "");
    }
}
