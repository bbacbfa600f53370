//! The client's cost per name: N distinct names through one DNS server on loopback, compared with a bare
//! program that only sends and receives the same packets. Prints JSON.
//!
//! `cargo run --release -p lycosa-names --example bulk [NAMES] [IN_FLIGHT]`; defaults: 1,000,000 and 1,000.
//!
//! Both use sendmmsg(2), recvmmsg(2) and poll(2), both have at most IN_FLIGHT queries in flight, and the same
//! loop on another thread answers both, one A record per query. CPU time is that of the querying thread alone,
//! from Linux's schedstat: it includes the kernel's work for its sends and receives, and for the bare program
//! nothing else. The bare program sends the client's queries with other ids: same names, same options, same
//! lengths. The client's cache stores nothing, since no name is repeated.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "shared/no_cache.rs"]
mod no_cache;

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lycosa_names::{Client, Settings};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, sendmmsg, setsockopt, sockopt};

use crate::no_cache::NoCache;

/// Datagrams per call.
const BATCH: usize = 64;

/// Buffer bytes per datagram.
const ROOM: usize = 512;

/// Name `n`.
fn name(n: usize) -> String {
    format!("host{n}.domain{}.example", n % 100_000)
}

/// A DNS server that answers every query with one address until `stop` is set.
fn serve(socket: &UdpSocket, stop: &AtomicBool) {
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let _ = setsockopt(socket, sockopt::RcvBuf, &(4 << 20));
    let mut bytes = vec![0; BATCH * ROOM];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
    let mut out = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
    while !stop.load(Ordering::Relaxed) {
        let from: Vec<(usize, Option<SockaddrIn>)> = {
            let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                bytes.chunks_exact_mut(ROOM).map(|chunk| [IoSliceMut::new(chunk)]).collect();
            // Waits only for the first datagram.
            let flags = MsgFlags::MSG_WAITFORONE;
            match recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), flags, None) {
                Ok(messages) => messages.map(|message| (message.bytes, message.address)).collect(),
                Err(_) => continue,
            }
        };
        let replies: Vec<Vec<u8>> = bytes
            .chunks_exact(ROOM)
            .zip(&from)
            .map(|(chunk, (length, _))| reply(&chunk[..*length]))
            .collect();
        let slices: Vec<[IoSlice<'_>; 1]> = replies.iter().map(|reply| [IoSlice::new(reply)]).collect();
        let to: Vec<Option<SockaddrIn>> = from.iter().map(|(_, address)| *address).collect();
        let mut sent = 0;
        while sent < slices.len() {
            match sendmmsg(socket.as_raw_fd(), &mut out, &slices[sent..], &to[sent..], [], MsgFlags::empty())
            {
                Ok(messages) => sent += messages.count(),
                Err(_) => sent += 1, // the client has closed its socket
            }
        }
    }
}

/// The query followed by one A record, without options.
fn reply(question: &[u8]) -> Vec<u8> {
    let end = 12 + question[12..].iter().position(|byte| *byte == 0).unwrap() + 5;
    let mut reply = question[..end].to_vec();
    reply[2] |= 0x80;
    reply[3] = 0x80;
    reply[4..12].copy_from_slice(&[0, 1, 0, 1, 0, 0, 0, 0]);
    reply.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 192, 0, 2, 1]);
    reply
}

/// The query that the client sends for a name, except for its id and the case of its letters.
fn question(name: &str, id: u16) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let mut message = vec![high, low, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, 0, 1, 0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    message
}

/// CPU time in nanoseconds of this process's threads with this name.
fn cpu_of(name: &str) -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let named = tasks.filter(|task| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
    });
    named
        .map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap();
            text.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap()
        })
        .sum()
}

/// Only sends and receives; returns the CPU time in nanoseconds, the number of replies, and the elapsed time.
fn bare(server: SocketAddr, packets: &[u8], ends: &[usize], in_flight: usize) -> (u64, usize, Duration) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_nonblocking(true).unwrap();
    let _ = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
    let mut bytes = vec![0; BATCH * ROOM];
    let (mut out, mut headers) =
        (MultiHeaders::<()>::preallocate(BATCH, None), MultiHeaders::<()>::preallocate(BATCH, None));
    let (mut sent, mut received, mut lost) = (0, 0, 0);
    let (began, cpu) = (Instant::now(), cpu_of("bare"));
    let mut heard = Instant::now();
    while received + lost < ends.len() {
        while sent < ends.len() && sent - received - lost < in_flight {
            let count = BATCH.min(ends.len() - sent).min(in_flight - (sent - received - lost));
            let slices: Vec<[IoSlice<'_>; 1]> = (sent..sent + count)
                .map(|n| [IoSlice::new(&packets[n.checked_sub(1).map_or(0, |n| ends[n])..ends[n]])])
                .collect();
            sent += sendmmsg(socket.as_raw_fd(), &mut out, &slices, [None; BATCH], [], MsgFlags::empty())
                .unwrap()
                .count();
        }
        let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::from(10_u8)).unwrap();
        loop {
            let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                bytes.chunks_exact_mut(ROOM).map(|chunk| [IoSliceMut::new(chunk)]).collect();
            let count =
                recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::empty(), None)
                    .map_or(0, Iterator::count);
            received += count;
            if count > 0 {
                heard = Instant::now();
            }
            if count < BATCH {
                break;
            }
        }
        if heard.elapsed() > Duration::from_millis(200) {
            lost = sent - received; // no retries here
            heard = Instant::now();
        }
    }
    (cpu_of("bare") - cpu, received, began.elapsed())
}

/// Runs the client; returns the CPU time in nanoseconds, the number of names answered with an address, the elapsed
/// time, and the client.
fn client(server: SocketAddr, names: usize, in_flight: usize) -> (u64, usize, Duration, Client) {
    let settings = Settings { servers: vec![server.into()], in_flight, ..Settings::default() };
    let client = Client::start(settings, Box::new(NoCache)).unwrap();
    let began = Instant::now();
    let (mut next, mut resolved, mut answers) = (0, 0, Vec::new());
    while next < names || client.pending() > 0 {
        let space = (2 * in_flight).max(4_096).saturating_sub(client.pending());
        let end = names.min(next + space);
        client.submit((next..end).map(|n| name(n).into()).collect());
        next = end;
        client.drain(&mut answers);
        resolved += answers.drain(..).filter(|answer| answer.result.is_ok()).count();
        std::thread::sleep(Duration::from_millis(1));
    }
    client.drain(&mut answers);
    resolved += answers.drain(..).filter(|answer| answer.result.is_ok()).count();
    (cpu_of("lycosa-names"), resolved, began.elapsed(), client)
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().expect("a number"));
    let names = arguments.next().unwrap_or(1_000_000);
    let in_flight = arguments.next().unwrap_or(1_000);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (server, stop) = (socket.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
    let stopped = stop.clone();
    let answering = std::thread::spawn(move || serve(&socket, &stopped));

    let (mut packets, mut ends) = (Vec::new(), Vec::with_capacity(names));
    for n in 0..names {
        packets.extend(question(&name(n), n as u16));
        ends.push(packets.len());
    }
    let run = move || bare(server, &packets, &ends, in_flight);
    let (bare_cpu, bare_answers, bare_time) =
        std::thread::Builder::new().name("bare".to_owned()).spawn(run).unwrap().join().unwrap();
    let (cpu, resolved, time, client) = client(server, names, in_flight);
    let (statistics, upstream) = (client.statistics(), client.upstreams()[0].clone());
    drop(client);
    stop.store(true, Ordering::Relaxed);
    answering.join().unwrap();
    let each = |nanoseconds: u64| nanoseconds as f64 / 1e3 / names as f64;
    println!(
        "{{\"names\": {names}, \"in_flight\": {in_flight}, \"resolved\": {resolved}, \"us_a_name\": {:.3}, \"names_per_second\": {:.0}, \
         \"questions\": {}, \"timeouts\": {}, \"window\": {}, \"bare_us_a_name\": {:.3}, \"bare_answers\": {bare_answers}, \
         \"bare_names_per_second\": {:.0}, \"ratio\": {:.3}}}",
        each(cpu),
        names as f64 / time.as_secs_f64(),
        statistics.questions,
        statistics.timeouts,
        upstream.window,
        each(bare_cpu),
        names as f64 / bare_time.as_secs_f64(),
        cpu as f64 / bare_cpu as f64,
    );
}
