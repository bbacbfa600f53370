//! Datagrams of many clients in one system call, where the system has such calls; else one by one.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use crate::batch::BATCH;

/// The longest question that is read: more than any has that is not to be refused.
const ROOM: usize = 1_280;

/// Questions of one call, and whom they are from.
pub(super) struct Questions {
    bytes: Vec<u8>,
    received: Vec<(usize, SocketAddr)>,
    system: system::Receiver,
}

impl Default for Questions {
    fn default() -> Self {
        Questions {
            bytes: vec![0; ROOM * BATCH],
            received: Vec::with_capacity(BATCH),
            system: system::Receiver::default(),
        }
    }
}

impl Questions {
    /// Waits for questions, as long as the socket's time-out; takes what is there.
    pub(super) fn receive(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.received.clear();
        match self.system.receive(socket, &mut self.bytes, ROOM, &mut self.received) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            received => received,
        }
    }

    /// What was received.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        let chunks = self.bytes.chunks_exact(ROOM);
        chunks.zip(&self.received).map(|(chunk, (length, from))| (&chunk[..(*length).min(ROOM)], *from))
    }
}

/// Answers that wait to be sent: a bounded number.
#[derive(Default)]
pub(super) struct Answers {
    /// All of them, one after the other. Filled by who writes an answer, which [`Answers::push`] then closes.
    pub(super) bytes: Vec<u8>,
    ends: Vec<(usize, SocketAddr)>,
    system: system::Sender,
}

impl Answers {
    /// What was written since the last one is an answer to this client.
    pub(super) fn push(&mut self, to: SocketAddr) {
        self.ends.push((self.bytes.len(), to));
    }

    /// Whether they are to be sent before there are more.
    pub(super) fn is_full(&self) -> bool {
        self.ends.len() >= BATCH
    }

    /// Sends all. What the kernel does not take is lost, as datagrams are: the client asks again.
    pub(super) fn send(&mut self, socket: &UdpSocket) {
        let mut first = 0;
        while first < self.ends.len() {
            match self.system.send(socket, &self.bytes, &self.ends, first) {
                Ok(sent) => first += sent.max(1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_) => first += 1, // of this client only: unreachable, or the kernel is out of room
            }
        }
        self.bytes.clear();
        self.ends.clear();
    }
}

/// sendmmsg(2) and recvmmsg(2).
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
mod system {
    use std::io::{self, IoSlice, IoSliceMut};
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd as _;

    use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg};

    use super::BATCH;

    /// Headers for one call.
    pub(super) struct Receiver(MultiHeaders<SockaddrStorage>);

    impl Default for Receiver {
        fn default() -> Self {
            Receiver(MultiHeaders::preallocate(BATCH, None))
        }
    }

    impl Receiver {
        /// Waits for one message, takes all that are there.
        pub(super) fn receive(
            &mut self,
            socket: &UdpSocket,
            bytes: &mut [u8],
            room: usize,
            into: &mut Vec<(usize, SocketAddr)>,
        ) -> io::Result<()> {
            let mut chunks = bytes.chunks_exact_mut(room);
            let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
                std::array::from_fn(|_| [IoSliceMut::new(chunks.next().unwrap_or_default())]);
            let flags = MsgFlags::MSG_WAITFORONE;
            let received = recvmmsg(socket.as_raw_fd(), &mut self.0, slices.iter_mut(), flags, None)?;
            into.extend(received.map(|message| {
                let from = message.address.as_ref().and_then(address);
                // One without an address cannot be answered, and is as short as no question.
                from.map_or((0, SocketAddr::from(([0; 4], 0))), |from| (message.bytes, from))
            }));
            Ok(())
        }
    }

    /// An address as the standard library has it.
    fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
        v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
    }

    /// Headers and addresses for one call.
    pub(super) struct Sender {
        headers: MultiHeaders<SockaddrStorage>,
        to: Vec<Option<SockaddrStorage>>,
    }

    impl Default for Sender {
        fn default() -> Self {
            Sender { headers: MultiHeaders::preallocate(BATCH, None), to: Vec::with_capacity(BATCH) }
        }
    }

    impl Sender {
        /// Sends messages from the given one on; gives how many.
        pub(super) fn send(
            &mut self,
            socket: &UdpSocket,
            bytes: &[u8],
            ends: &[(usize, SocketAddr)],
            first: usize,
        ) -> io::Result<usize> {
            let mut from = first.checked_sub(1).map_or(0, |last| ends[last].0);
            let mut slices = [[IoSlice::new(&[])]; BATCH];
            self.to.clear();
            for (slice, (end, to)) in slices.iter_mut().zip(&ends[first..]) {
                *slice = [IoSlice::new(&bytes[from..*end])];
                self.to.push(Some((*to).into()));
                from = *end;
            }
            let slices = &slices[..self.to.len()];
            let flags = MsgFlags::empty();
            Ok(sendmmsg(socket.as_raw_fd(), &mut self.headers, slices, &self.to, [], flags)?.count())
        }
    }
}

/// One call a datagram.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd")))]
mod system {
    use std::io;
    use std::net::{SocketAddr, UdpSocket};

    /// Nothing is needed.
    #[derive(Default)]
    pub(super) struct Receiver;

    impl Receiver {
        /// Waits for one message.
        pub(super) fn receive(
            &mut self,
            socket: &UdpSocket,
            bytes: &mut [u8],
            room: usize,
            into: &mut Vec<(usize, SocketAddr)>,
        ) -> io::Result<()> {
            into.push(socket.recv_from(&mut bytes[..room])?);
            Ok(())
        }
    }

    /// Nothing is needed.
    #[derive(Default)]
    pub(super) struct Sender;

    impl Sender {
        /// Sends one message; gives how many.
        pub(super) fn send(
            &mut self,
            socket: &UdpSocket,
            bytes: &[u8],
            ends: &[(usize, SocketAddr)],
            first: usize,
        ) -> io::Result<usize> {
            let from = first.checked_sub(1).map_or(0, |last| ends[last].0);
            socket.send_to(&bytes[from..ends[first].0], ends[first].1)?;
            Ok(1)
        }
    }
}
