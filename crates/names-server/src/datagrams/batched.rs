//! sendmmsg(2) and recvmmsg(2), with the local address (IP_PKTINFO) for sockets bound to all addresses.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg,
    sendmmsg, sendmsg,
};

use super::{Answer, BATCH, Peer};

/// Headers for one recvmmsg call.
pub(super) struct Receiver {
    headers: MultiHeaders<SockaddrStorage>,
    /// Whether the kernel reports the local address.
    is_told: bool,
}

impl Receiver {
    /// A receiver for a socket bound to one address or to all.
    pub(super) fn new(has_all_addresses: bool) -> Self {
        let space = has_all_addresses.then(|| cmsg_space!(in6_pktinfo));
        Receiver { headers: MultiHeaders::preallocate(BATCH, space), is_told: has_all_addresses }
    }

    /// Waits for one message and receives all that are available.
    pub(super) fn receive(
        &mut self,
        socket: &UdpSocket,
        bytes: &mut [u8],
        space: usize,
        into: &mut Vec<(usize, Peer)>,
    ) -> io::Result<()> {
        let mut chunks = bytes.chunks_exact_mut(space);
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] =
            std::array::from_fn(|_| [IoSliceMut::new(chunks.next().unwrap_or_default())]);
        let flags = MsgFlags::MSG_WAITFORONE;
        let received = recvmmsg(socket.as_raw_fd(), &mut self.headers, slices.iter_mut(), flags, None)?;
        let is_told = self.is_told;
        into.extend(received.map(|message| {
            let local = if is_told { destination(&message) } else { None };
            match message.address.as_ref().and_then(address) {
                Some(address) => (message.bytes, Peer { local, address }),
                // Without an address it cannot be answered; length 0 makes the parser drop it.
                None => (0, Peer { local, address: SocketAddr::from(([0; 4], 0)) }),
            }
        }));
        Ok(())
    }
}

/// Converts to an address of the standard library.
fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}

/// The local address that a message was sent to.
fn destination(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<IpAddr> {
    message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::Ipv4PacketInfo(told) => {
            Some(Ipv4Addr::from(told.ipi_spec_dst.s_addr.to_ne_bytes()).into())
        }
        ControlMessageOwned::Ipv6PacketInfo(told) => {
            let asked = Ipv6Addr::from(told.ipi6_addr.s6_addr);
            (!asked.is_multicast()).then_some(asked.into()) // no source address
        }
        _ => None,
    })
}

/// The source address of an answer, as the kernel expects it.
enum Source {
    V4(in_pktinfo),
    V6(in6_pktinfo),
}

impl Source {
    /// This address, on any interface.
    fn new(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Source::V4(in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
                ipi_addr: in_addr { s_addr: 0 },
            }),
            IpAddr::V6(address) => {
                Source::V6(in6_pktinfo { ipi6_addr: in6_addr { s6_addr: address.octets() }, ipi6_ifindex: 0 })
            }
        }
    }

    /// The control message for a call.
    fn control(&self) -> ControlMessage<'_> {
        match self {
            Source::V4(source) => ControlMessage::Ipv4PacketInfo(source),
            Source::V6(source) => ControlMessage::Ipv6PacketInfo(source),
        }
    }
}

/// Headers and addresses for one sendmmsg call.
pub(super) struct Sender {
    headers: MultiHeaders<SockaddrStorage>,
    /// Headers with space for a source address; allocated on first use.
    with_source: Option<MultiHeaders<SockaddrStorage>>,
    to: Vec<Option<SockaddrStorage>>,
    /// Whether the system has rejected UDP_SEGMENT.
    is_without_segments: bool,
}

impl Default for Sender {
    fn default() -> Self {
        Sender {
            headers: MultiHeaders::preallocate(BATCH, None),
            with_source: None,
            to: Vec::with_capacity(BATCH),
            is_without_segments: false,
        }
    }
}

impl Sender {
    /// Sends the first messages with a common source address; returns how many.
    pub(super) fn send(&mut self, socket: &UdpSocket, bytes: &[u8], answers: &[Answer]) -> io::Result<usize> {
        let from = answers.first().and_then(|answer| answer.to.local);
        let mut slices = [[IoSlice::new(&[])]; BATCH];
        self.to.clear();
        let together = answers.iter().take_while(|answer| answer.to.local == from);
        for (slice, answer) in slices.iter_mut().zip(together) {
            *slice = [IoSlice::new(&bytes[answer.bytes.clone()])];
            self.to.push(Some(answer.to.address.into()));
        }
        let slices = &slices[..self.to.len()];
        let source = from.map(Source::new);
        let control = source.as_ref().map(Source::control);
        let headers = match control {
            None => &mut self.headers,
            Some(_) => self.with_source.get_or_insert_with(|| {
                // Sized for IPv6; what an IPv4 message leaves is too short for another control message.
                MultiHeaders::preallocate(BATCH, Some(cmsg_space!(in6_pktinfo)))
            }),
        };
        let flags = MsgFlags::empty();
        Ok(sendmmsg(socket.as_raw_fd(), headers, slices, &self.to, control.as_slice(), flags)?.count())
    }

    /// Sends messages of equal length, the last one possibly shorter, to one client as one piece; returns
    /// whether the system supports that.
    pub(super) fn send_piece(&mut self, socket: &UdpSocket, bytes: &[u8], piece: &[Answer]) -> bool {
        let (Some(first), false) = (piece.first(), self.is_without_segments) else { return false };
        let mut slices = [IoSlice::new(&[]); BATCH];
        for (slice, answer) in slices.iter_mut().zip(piece) {
            *slice = IoSlice::new(&bytes[answer.bytes.clone()]);
        }
        let Ok(length) = u16::try_from(first.bytes.len()) else { return false };
        let to = SockaddrStorage::from(first.to.address);
        let (segments, source) = (ControlMessage::UdpGsoSegments(&length), first.to.local.map(Source::new));
        // Only the first one if there is no source address.
        let controls = [segments, source.as_ref().map_or(segments, Source::control)];
        let controls = &controls[..1 + usize::from(source.is_some())];
        let slices = &slices[..piece.len().min(BATCH)];
        match sendmsg(socket.as_raw_fd(), slices, controls, MsgFlags::empty(), Some(&to)) {
            // Unsupported on this path or system: not tried again.
            Err(Errno::EINVAL | Errno::EIO | Errno::EOPNOTSUPP) => {
                self.is_without_segments = true;
                false
            }
            Err(Errno::EINTR | Errno::EMSGSIZE) => false,
            _ => true,
        }
    }
}
