use std::sync::LazyLock;

use super::*;

/// The longest wait for a reply, in microseconds.
const PATIENCE: Micros = 1_000;

/// A socket in place of all servers; it answers nothing.
static SERVER: LazyLock<UdpSocket> = LazyLock::new(|| UdpSocket::bind("127.0.0.1:0").unwrap());

/// Sends a query to a server; returns the socket's id.
fn ask(sockets: &mut Sockets, place: Place, last: &mut SocketId, now: Micros) -> io::Result<SocketId> {
    let id = sockets.turn(place, SERVER.local_addr()?, last, now)?;
    sockets.push(id, b"x")?;
    assert!(sockets.flush().is_empty());
    Ok(id)
}

fn count(sockets: &Sockets) -> usize {
    sockets.polled().count()
}

#[test]
fn a_server_has_eight_sockets_unless_there_are_many_servers() {
    for (servers, expected) in [(1, 8), (128, 8), (500, 2), (1_000, 1), (5_000, 1)] {
        let (mut sockets, mut last) = (Sockets::new(PATIENCE, servers, usize::MAX), 0);
        for _ in 0..100 {
            ask(&mut sockets, 0, &mut last, 0).unwrap();
        }
        assert_eq!(count(&sockets), expected, "{servers} servers");
    }
}

#[test]
fn servers_take_turns_where_descriptors_are_few() {
    let (mut sockets, mut last) = (Sockets::new(PATIENCE, 3, 4), 0);
    for place in [0, 0, 0, 1] {
        ask(&mut sockets, place, &mut last, 0).unwrap();
    }
    // Both permitted sockets wait for replies.
    let error = ask(&mut sockets, 2, &mut last, 1).unwrap_err();
    assert!(descriptors::explain_shortage(&error).unwrap().contains("RLIMIT_NOFILE"), "{error}");
    assert!(ask(&mut sockets, 1, &mut last, 2).is_ok(), "who has one is asked");
    ask(&mut sockets, 2, &mut last, PATIENCE).unwrap();
    assert!(ask(&mut sockets, 0, &mut last, PATIENCE).is_err(), "the one of before is closed");
    assert_eq!(count(&sockets), 2);
}

#[test]
fn a_port_is_changed_after_its_time_and_the_old_one_listened_on_for_as_long_as_answers_come() {
    let (mut sockets, mut last) = (Sockets::new(PATIENCE, 1_000, 100), 0);
    let first = ask(&mut sockets, 0, &mut last, 0).unwrap();
    assert_eq!(ask(&mut sockets, 0, &mut last, SOCKET_LIFE - 1).unwrap(), first);
    assert_ne!(ask(&mut sockets, 0, &mut last, SOCKET_LIFE).unwrap(), first);
    assert_eq!(count(&sockets), 2);
    sockets.close_worn(SOCKET_LIFE + PATIENCE);
    assert_eq!(count(&sockets), 1);
    sockets.close_worn(2 * SOCKET_LIFE + PATIENCE);
    assert_eq!(count(&sockets), 0, "nobody needs it");
    // If no further socket is permitted, the port stays.
    let (mut sockets, mut last) = (Sockets::new(PATIENCE, 1, 2), 0);
    let only = ask(&mut sockets, 0, &mut last, 0).unwrap();
    assert_eq!(ask(&mut sockets, 0, &mut last, 5 * SOCKET_LIFE).unwrap(), only);
}
