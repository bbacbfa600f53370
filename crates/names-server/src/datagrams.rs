//! Sends and receives datagrams of many clients in one system call where the system supports it, else one by
//! one.

#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "datagrams/batched.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), path = "datagrams/single.rs")]
mod system;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::Range;

/// Maximum number of datagrams per call.
pub(crate) const BATCH: usize = 64;

/// Maximum number of bytes that the kernel takes as one piece: the payload of the largest IPv4 datagram.
const PIECE: usize = 65_507;

/// Size of the receive buffer per datagram: more than any valid question needs.
const ROOM: usize = 1_280;

/// The addresses of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Peer {
    /// The local address that the client asked, from which the answer must leave; only for sockets bound to
    /// all addresses.
    pub(crate) local: Option<IpAddr>,
    /// The client's address.
    pub(crate) address: SocketAddr,
}

/// Received questions of one call with their senders.
pub(crate) struct Questions {
    bytes: Vec<u8>,
    received: Vec<(usize, Peer)>,
    system: system::Receiver,
}

impl Questions {
    /// An empty batch for this socket.
    pub(crate) fn of(socket: &UdpSocket) -> Self {
        let has_all_addresses = socket.local_addr().is_ok_and(|address| address.ip().is_unspecified());
        Questions {
            bytes: vec![0; ROOM * BATCH],
            received: Vec::with_capacity(BATCH),
            system: system::Receiver::new(has_all_addresses),
        }
    }

    /// Waits for questions until the socket's time-out and receives all that are available.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.received.clear();
        match self.system.receive(socket, &mut self.bytes, ROOM, &mut self.received) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            received => received,
        }
    }

    /// The received messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (&[u8], Peer)> {
        let chunks = self.bytes.chunks_exact(ROOM);
        chunks.zip(&self.received).map(|(chunk, (length, peer))| (&chunk[..(*length).min(ROOM)], *peer))
    }
}

/// Answers to be sent, at most [`BATCH`].
#[derive(Default)]
pub(crate) struct Answers {
    /// All answers, concatenated. Callers append an answer and then call [`Answers::push`].
    pub(crate) bytes: Vec<u8>,
    ends: Vec<(usize, Peer)>,
    /// The answers in sending order, and those that are sent one by one.
    order: Vec<Answer>,
    single: Vec<Answer>,
    system: system::Sender,
}

impl Answers {
    /// Makes the bytes appended since the last call an answer to this client; returns them.
    pub(crate) fn push(&mut self, to: Peer) -> &[u8] {
        let start = self.ends.last().map_or(0, |(end, _)| *end);
        self.ends.push((self.bytes.len(), to));
        &self.bytes[start..]
    }

    /// Whether the batch must be sent before more is added.
    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= BATCH
    }

    /// Sends all answers. Those that the kernel does not accept are lost, as datagrams may be: the client
    /// asks again.
    ///
    /// Several answers to one client, such as a server of another tier, are passed to the kernel as one
    /// (UDP_SEGMENT) if all but the last have the same length and the last is not longer, up to [`PIECE`]: the
    /// path through the kernel is most of an answer's cost.
    pub(crate) fn send(&mut self, socket: &UdpSocket) {
        let mut start = 0;
        self.order.clear();
        self.order.extend(self.ends.drain(..).map(|(end, to)| {
            let bytes = start..end;
            start = end;
            Answer { to, bytes }
        }));
        self.order.sort_unstable_by_key(Answer::place);
        self.single.clear();
        let mut left = &self.order[..];
        while let Some(first) = left.first() {
            let most = (PIECE / first.bytes.len().max(1)).max(1);
            let same = left.iter().take(most).take_while(|answer| answer.key() == first.key()).count();
            // The last answer of a piece may be shorter.
            let has_shorter = same < most && left.get(same).is_some_and(|answer| answer.to == first.to);
            let (piece, rest) = left.split_at(same + usize::from(has_shorter));
            if piece.len() == 1 || !self.system.send_piece(socket, &self.bytes, piece) {
                self.single.extend_from_slice(piece);
            }
            left = rest;
        }
        let mut left = &self.single[..];
        while !left.is_empty() {
            let sent = match self.system.send(socket, &self.bytes, left) {
                Ok(sent) => sent.max(1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(_) => 1, // concerns this client only: unreachable, or a full send buffer
            };
            left = &left[sent..];
        }
        self.bytes.clear();
    }
}

/// An answer and its receiver.
#[derive(Clone)]
struct Answer {
    to: Peer,
    bytes: Range<usize>,
}

impl Answer {
    /// Key that answers sent as one piece share.
    fn key(&self) -> (Peer, usize) {
        (self.to, self.bytes.len())
    }

    /// Sort key; one number, since each batch is sorted: first by the local address, then by client, longer
    /// answers before shorter ones. If two clients have the same number, their answers are sent in more
    /// pieces, with no other harm.
    fn place(&self) -> (Option<IpAddr>, u64) {
        let client = match self.to.address.ip() {
            IpAddr::V4(address) => address.to_bits(),
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                (bits ^ bits >> 32 ^ bits >> 64 ^ bits >> 96) as u32
            }
        };
        let shorter = u16::MAX - u16::try_from(self.bytes.len()).unwrap_or(u16::MAX);
        let place = u64::from(client) << 32 | u64::from(self.to.address.port()) << 16 | u64::from(shorter);
        (self.to.local, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_large_answers_to_one_client_arrive() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let mut answers = Answers::default();
        // Together they are longer than one datagram may be; the last one is shorter.
        for n in 0..BATCH {
            answers.bytes.extend(std::iter::repeat_n(n as u8, if n + 1 < BATCH { 1_200 } else { 1_000 }));
            answers.push(Peer { local: None, address: client.local_addr().unwrap() });
        }
        answers.send(&server);
        let mut got: Vec<(u8, usize)> = (0..BATCH)
            .map(|_| {
                let mut buffer = [0; 2_000];
                let length = client.recv(&mut buffer).unwrap();
                (buffer[0], length)
            })
            .collect();
        got.sort_unstable();
        let sent = (0..BATCH).map(|n| (n as u8, if n + 1 < BATCH { 1_200 } else { 1_000 }));
        assert!(got.into_iter().eq(sent));
    }

    #[test]
    fn each_client_gets_its_answers_whole() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let clients: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        let mut answers = Answers::default();
        for round in 0..2_u8 {
            for n in 0..60 {
                // The first two clients get answers of few lengths, the third one of many.
                let length = if n % 3 == 2 { n + 1 } else { 20 + n % 2 };
                answers.bytes.extend(std::iter::repeat_n(n + round, length.into()));
                let address = clients[usize::from(n % 3)].local_addr().unwrap();
                answers.push(Peer { local: None, address });
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
