//! One system call per datagram, for systems without batched calls.

use std::io;
use std::net::UdpSocket;

use super::{Answer, Peer};

/// No state is needed.
pub(super) struct Receiver;

impl Receiver {
    /// A receiver for any socket.
    pub(super) fn new(_: bool) -> Self {
        Receiver
    }

    /// Waits for one message.
    pub(super) fn receive(
        &mut self,
        socket: &UdpSocket,
        bytes: &mut [u8],
        space: usize,
        into: &mut Vec<(usize, Peer)>,
    ) -> io::Result<()> {
        let (length, address) = socket.recv_from(&mut bytes[..space])?;
        into.push((length, Peer { local: None, address }));
        Ok(())
    }
}

/// No state is needed.
#[derive(Default)]
pub(super) struct Sender;

impl Sender {
    /// Sends one message; returns how many.
    pub(super) fn send(&mut self, socket: &UdpSocket, bytes: &[u8], answers: &[Answer]) -> io::Result<usize> {
        let Some(answer) = answers.first() else { return Ok(0) };
        socket.send_to(&bytes[answer.bytes.clone()], answer.to.address)?;
        Ok(1)
    }

    /// Unsupported: always `false`.
    pub(super) fn send_piece(&mut self, _: &UdpSocket, _: &[u8], _: &[Answer]) -> bool {
        false
    }
}
