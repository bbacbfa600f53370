//! Datagrams of many clients in one system call, where the system has such calls; else one by one.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;

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
    /// The same, in the order in which they are sent; and those that go one by one.
    order: Vec<Answer>,
    single: Vec<Answer>,
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
    ///
    /// Answers to one client that are equally long, as many are that a server of another tier asks for at once, go through the
    /// kernel as one (UDP_SEGMENT): half of an answer's cost is its way there.
    pub(super) fn send(&mut self, socket: &UdpSocket) {
        let mut start = 0;
        self.order.clear();
        self.order.extend(self.ends.drain(..).map(|(end, to)| {
            let bytes = start..end;
            start = end;
            Answer { to, bytes }
        }));
        self.order.sort_unstable_by_key(Answer::key);
        self.single.clear();
        for same in self.order.chunk_by(|one, other| one.key() == other.key()) {
            if same.len() == 1 || !self.system.send_same(socket, &self.bytes, same) {
                self.single.extend_from_slice(same);
            }
        }
        let mut left = &self.single[..];
        while !left.is_empty() {
            let sent = match self.system.send(socket, &self.bytes, left) {
                Ok(sent) => sent.max(1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(_) => 1, // of this client only: unreachable, or the kernel is out of room
            };
            left = &left[sent..];
        }
        self.bytes.clear();
    }
}

/// An answer, and whom it is for.
#[derive(Clone)]
struct Answer {
    to: SocketAddr,
    bytes: Range<usize>,
}

impl Answer {
    /// What those have in common that go through the kernel as one.
    fn key(&self) -> (SocketAddr, usize) {
        (self.to, self.bytes.len())
    }
}

/// sendmmsg(2) and recvmmsg(2).
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd"))]
mod system {
    use std::io::{self, IoSlice, IoSliceMut};
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd as _;

    #[cfg(any(target_os = "linux", target_os = "android"))]
    use nix::errno::Errno;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    use nix::sys::socket::{ControlMessage, sendmsg};
    use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg};

    use super::{Answer, BATCH};

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
        /// The system has refused to take several as one.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        is_without_segments: bool,
    }

    impl Default for Sender {
        fn default() -> Self {
            Sender {
                headers: MultiHeaders::preallocate(BATCH, None),
                to: Vec::with_capacity(BATCH),
                #[cfg(any(target_os = "linux", target_os = "android"))]
                is_without_segments: false,
            }
        }
    }

    impl Sender {
        /// Sends messages; gives how many.
        pub(super) fn send(
            &mut self,
            socket: &UdpSocket,
            bytes: &[u8],
            answers: &[Answer],
        ) -> io::Result<usize> {
            let mut slices = [[IoSlice::new(&[])]; BATCH];
            self.to.clear();
            for (slice, answer) in slices.iter_mut().zip(answers) {
                *slice = [IoSlice::new(&bytes[answer.bytes.clone()])];
                self.to.push(Some(answer.to.into()));
            }
            let slices = &slices[..self.to.len()];
            let flags = MsgFlags::empty();
            Ok(sendmmsg(socket.as_raw_fd(), &mut self.headers, slices, &self.to, [], flags)?.count())
        }

        /// Sends messages of one length to one client, in a piece; tells whether the system can.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        pub(super) fn send_same(&mut self, socket: &UdpSocket, bytes: &[u8], same: &[Answer]) -> bool {
            let (Some(first), false) = (same.first(), self.is_without_segments) else { return false };
            let mut slices = [IoSlice::new(&[]); BATCH];
            for (slice, answer) in slices.iter_mut().zip(same) {
                *slice = IoSlice::new(&bytes[answer.bytes.clone()]);
            }
            let Ok(length) = u16::try_from(first.bytes.len()) else { return false };
            let to = SockaddrStorage::from(first.to);
            let segments = [ControlMessage::UdpGsoSegments(&length)];
            let slices = &slices[..same.len().min(BATCH)];
            match sendmsg(socket.as_raw_fd(), slices, &segments, MsgFlags::empty(), Some(&to)) {
                // Not on this path, or not on this system: never again here.
                Err(Errno::EINVAL | Errno::EIO | Errno::EOPNOTSUPP) => {
                    self.is_without_segments = true;
                    false
                }
                Err(Errno::EINTR) => false,
                _ => true,
            }
        }

        /// The system cannot.
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        pub(super) fn send_same(&mut self, _: &UdpSocket, _: &[u8], _: &[Answer]) -> bool {
            false
        }
    }
}

/// One call a datagram.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_os = "netbsd")))]
mod system {
    use std::io;
    use std::net::{SocketAddr, UdpSocket};

    use super::Answer;

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
            answers: &[Answer],
        ) -> io::Result<usize> {
            let Some(answer) = answers.first() else { return Ok(0) };
            socket.send_to(&bytes[answer.bytes.clone()], answer.to)?;
            Ok(1)
        }

        /// The system cannot.
        pub(super) fn send_same(&mut self, _: &UdpSocket, _: &[u8], _: &[Answer]) -> bool {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_its_answers_whole() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let clients: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let mut answers = Answers::default();
        for round in 0..2_u8 {
            for n in 0..60 {
                // The first two get answers of few lengths, the third one of many.
                let length = if n % 3 == 2 { n + 1 } else { 20 + n % 2 };
                answers.bytes.extend(std::iter::repeat_n(n + round, length.into()));
                answers.push(clients[usize::from(n % 3)].local_addr().unwrap());
            }
            answers.send(&server);
            for (place, client) in (0..).zip(&clients) {
                client.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
                let mut got: Vec<Vec<u8>> = (0..20)
                    .map(|_| {
                        let mut buffer = [0; 200];
                        let length = client.recv(&mut buffer).unwrap();
                        buffer[..length].to_vec()
                    })
                    .collect();
                got.sort_unstable_by_key(|answer| answer[0]);
                for (answer, n) in got.iter().zip((place..60_u8).step_by(3)) {
                    let length = if n % 3 == 2 { n + 1 } else { 20 + n % 2 };
                    assert_eq!(*answer, vec![n + round; length.into()]);
                }
            }
        }
    }
}
