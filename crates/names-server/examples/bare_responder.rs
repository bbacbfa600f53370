//! The upper bound of plain sockets: a server that does nothing but recvmmsg(2) and sendmmsg(2), as a
//! baseline for measurements of `lycosa dns`.
//!
//! `cargo run --release -p lycosa-names-server --example bare_responder ADDRESS:PORT`; runs until it is
//! killed.
//!
//! Each question becomes an answer with one A record in its own buffer, as large as the answer of a real
//! server: of the name only the end is searched, nothing is looked up or allocated. One thread, one socket
//! with SO_REUSEPORT, batches of 64, one wait for the first datagram of each batch. It calls the C library
//! directly, since a safe wrapper has a cost per datagram.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(unsafe_code, reason = "the bare system calls are measured")]

use std::mem::{size_of, zeroed};
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd as _;
use std::ptr::{from_mut, null_mut};

use nix::libc::{self, iovec, mmsghdr, sockaddr_in};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, setsockopt, socket, sockopt};

/// Datagrams per call.
const BATCH: usize = 64;

/// Buffer size per question; a longer one is cut.
const ROOM: usize = 512;

/// The name of the question, A, IN, 3,600 s, 192.0.2.1.
const RECORD: [u8; 16] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 192, 0, 2, 1];

/// Turns a question into an answer in place; returns its length. A malformed message is sent back unchanged.
fn turn(message: &mut [u8; ROOM + RECORD.len()], length: usize) -> usize {
    let mut end = 12;
    while end < length && message[end] != 0 {
        end += 1 + usize::from(message[end]);
    }
    end += 5;
    if end > length {
        return length;
    }
    // An OPT record after the question stays after the answer.
    message.copy_within(end..length, end + RECORD.len());
    message[end..end + RECORD.len()].copy_from_slice(&RECORD);
    message[2] |= 0x80;
    message[3] = 0x80;
    message[7] = 1;
    length + RECORD.len()
}

fn main() {
    let address: SocketAddrV4 =
        std::env::args().nth(1).expect("ADDRESS:PORT").parse().expect("an IPv4 address and a port");
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::empty(), None).unwrap();
    setsockopt(&socket, sockopt::ReusePort, &true).unwrap();
    // The same buffer size as the compared servers request.
    let _ = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
    bind(socket.as_raw_fd(), &SockaddrIn::from(address)).unwrap();

    // SAFETY: all-zero bytes are a valid value of these plain C structures.
    let mut addresses: [sockaddr_in; BATCH] = unsafe { zeroed() };
    let mut bytes = vec![[0_u8; ROOM + RECORD.len()]; BATCH];
    let mut slices: Vec<iovec> =
        bytes.iter_mut().map(|each| iovec { iov_base: each.as_mut_ptr().cast(), iov_len: ROOM }).collect();
    let mut headers: Vec<mmsghdr> = slices
        .iter_mut()
        .zip(&mut addresses)
        .map(|(slice, address)| {
            // SAFETY: as above.
            let mut header: mmsghdr = unsafe { zeroed() };
            header.msg_hdr.msg_iov = from_mut(slice);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = from_mut(address).cast();
            header
        })
        .collect();
    loop {
        for (header, slice) in headers.iter_mut().zip(&mut slices) {
            header.msg_hdr.msg_namelen = size_of::<sockaddr_in>() as libc::socklen_t;
            slice.iov_len = ROOM;
        }
        // SAFETY: each header points to an address and a slice, each slice to `ROOM` bytes; all live as long
        // as this function.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_WAITFORONE as _,
                null_mut(),
            )
        };
        let received = usize::try_from(received).unwrap_or_default();
        for ((message, slice), header) in bytes.iter_mut().zip(&mut slices).zip(&headers).take(received) {
            slice.iov_len = turn(message, (header.msg_len as usize).min(ROOM));
        }
        let mut sent = 0;
        while sent < received {
            let waiting = &mut headers[sent..received];
            // SAFETY: as above; a slice is no longer than its buffer.
            let count =
                unsafe { libc::sendmmsg(socket.as_raw_fd(), waiting.as_mut_ptr(), waiting.len() as u32, 0) };
            sent += usize::try_from(count).unwrap_or(1).max(1); // a datagram that cannot be sent is skipped
        }
    }
}
