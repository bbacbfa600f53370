//! Shared by tests with their own servers.

use std::net::{TcpListener, UdpSocket};

/// TCP and UDP on one port, which may be in use for one of them: clients use ports of all numbers.
pub(crate) fn bind_both() -> (TcpListener, UdpSocket) {
    let bind = |_| {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        UdpSocket::bind(tcp.local_addr().unwrap()).ok().map(|udp| (tcp, udp))
    };
    (0..100).find_map(bind).unwrap()
}
