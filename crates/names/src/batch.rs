//! Sends and receives many datagrams in one system call, if the system supports it; otherwise one by one.

use std::io;
use std::net::UdpSocket;

/// Most datagrams that one call sends or receives.
pub(crate) const BATCH: usize = 64;

/// A bounded queue of messages to be sent on one socket.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// The end of each message.
    ends: Vec<usize>,
    /// The number of messages at the front that are sent.
    sent: usize,
}

impl Outgoing {
    /// Appends a message.
    pub(crate) fn push(&mut self, message: &[u8]) {
        self.bytes.extend_from_slice(message);
        self.ends.push(self.bytes.len());
    }

    /// Whether it must be sent before it accepts another message.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= BATCH
    }

    /// Whether it contains no message.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sends on a connected socket. Messages that the socket does not accept stay, with
    /// [`io::ErrorKind::WouldBlock`].
    pub(crate) fn send(&mut self, socket: &UdpSocket) -> io::Result<()> {
        while self.sent < self.ends.len() {
            let start = self.sent.checked_sub(1).map_or(0, |last| self.ends[last]);
            let mut messages: [&[u8]; BATCH] = [&[]; BATCH];
            let (mut from, mut count) = (start, 0);
            for (message, end) in messages.iter_mut().zip(&self.ends[self.sent..]) {
                *message = &self.bytes[from..*end];
                (from, count) = (*end, count + 1);
            }
            match system::send(socket, &messages[..count]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.sent = 0;
        Ok(())
    }
}

/// Buffers for the datagrams of one call.
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    space: usize,
    system: system::Receiver,
}

impl Incoming {
    /// Buffers for datagrams of `space` bytes; longer ones are truncated.
    pub(crate) fn new(space: usize) -> Self {
        Incoming {
            bytes: vec![0; space * BATCH],
            lengths: Vec::with_capacity(BATCH),
            space,
            system: system::Receiver::default(),
        }
    }

    /// Receives up to [`BATCH`] datagrams; returns whether more may be waiting.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<bool> {
        self.lengths.clear();
        loop {
            match self.system.receive(socket, &mut self.bytes, self.space, &mut self.lengths) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
                Ok(()) => return Ok(self.lengths.len() == BATCH),
            }
        }
    }

    /// The received messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.bytes
            .chunks_exact(self.space)
            .zip(&self.lengths)
            .map(|(chunk, &length)| &chunk[..length.min(self.space)])
    }
}

/// sendmmsg(2) and recvmmsg(2).
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
mod system {
    use std::io::{self, IoSlice, IoSliceMut};
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd as _;

    use nix::sys::socket::{MsgFlags, MultiHeaders, recvmmsg, sendmmsg};

    use super::BATCH;

    /// Sends messages; returns how many were sent, at least one.
    pub(super) fn send(socket: &UdpSocket, messages: &[&[u8]]) -> io::Result<usize> {
        let mut headers = MultiHeaders::<()>::preallocate(messages.len(), None);
        let slices: Vec<[IoSlice<'_>; 1]> = messages.iter().map(|message| [IoSlice::new(message)]).collect();
        let nobody = [None; BATCH]; // the socket is connected
        let sent = sendmmsg(socket.as_raw_fd(), &mut headers, &slices, nobody, [], MsgFlags::empty())?;
        Ok(sent.count())
    }

    /// Headers for one call.
    pub(super) struct Receiver(MultiHeaders<()>);

    impl Default for Receiver {
        fn default() -> Self {
            Receiver(MultiHeaders::preallocate(BATCH, None))
        }
    }

    impl Receiver {
        /// Receives messages into buffers of `space` bytes, and stores their lengths.
        pub(super) fn receive(
            &mut self,
            socket: &UdpSocket,
            bytes: &mut [u8],
            space: usize,
            lengths: &mut Vec<usize>,
        ) -> io::Result<()> {
            let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                bytes.chunks_exact_mut(space).map(|chunk| [IoSliceMut::new(chunk)]).collect();
            let received =
                recvmmsg(socket.as_raw_fd(), &mut self.0, slices.iter_mut(), MsgFlags::empty(), None)?;
            lengths.extend(received.map(|message| message.bytes));
            Ok(())
        }
    }
}

/// One call per datagram.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd")))]
mod system {
    use std::io;
    use std::net::UdpSocket;

    /// Sends messages; returns how many were sent, at least one.
    pub(super) fn send(socket: &UdpSocket, messages: &[&[u8]]) -> io::Result<usize> {
        for (count, message) in messages.iter().enumerate() {
            match socket.send(message) {
                Err(_) if count > 0 => return Ok(count), // the next call returns the error
                Err(error) => return Err(error),
                Ok(_) => (),
            }
        }
        Ok(messages.len())
    }

    /// No state is needed.
    #[derive(Default)]
    pub(super) struct Receiver;

    impl Receiver {
        /// Receives messages into buffers of `space` bytes, and stores their lengths.
        pub(super) fn receive(
            &mut self,
            socket: &UdpSocket,
            bytes: &mut [u8],
            space: usize,
            lengths: &mut Vec<usize>,
        ) -> io::Result<()> {
            for chunk in bytes.chunks_exact_mut(space) {
                match socket.recv(chunk) {
                    Err(_) if !lengths.is_empty() => return Ok(()), // the next call returns the error
                    Err(error) => return Err(error),
                    Ok(length) => lengths.push(length),
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order() {
        let (one, other) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        other.set_nonblocking(true).unwrap();
        let mut outgoing = Outgoing::default();
        let messages: Vec<Vec<u8>> = (0..150).map(|n: u8| vec![n; usize::from(n) / 2]).collect();
        messages.iter().for_each(|message| outgoing.push(message));
        assert!(outgoing.is_full());
        outgoing.send(&one).unwrap();
        assert!(outgoing.is_empty());
        let (mut incoming, mut received) = (Incoming::new(60), Vec::new());
        loop {
            let more = incoming.receive(&other).unwrap();
            received.extend(incoming.messages().map(<[u8]>::to_vec));
            if !more {
                break;
            }
        }
        let cut: Vec<Vec<u8>> =
            messages.into_iter().map(|message| message[..message.len().min(60)].to_vec()).collect();
        assert_eq!(received, cut);
        assert!(!incoming.receive(&other).unwrap());
        assert_eq!(incoming.messages().count(), 0);
    }

    #[test]
    fn nobody_listening_is_an_error() {
        let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(gone).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut outgoing = Outgoing::default();
        outgoing.push(b"x");
        outgoing.send(&socket).unwrap();
        assert!(Incoming::new(10).receive(&socket).is_err());
    }
}
