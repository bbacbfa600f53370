//! Blocked ports: services of other protocols listen there, and might execute a request as commands.

/// The bad ports of the Fetch standard (<https://fetch.spec.whatwg.org/#port-blocking>) and two more, in
/// ascending order: 6379 (Redis) and 11211 (memcached), which take each line of a request for a command.
const BLOCKED: [u16; 85] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    11211,
];

/// Whether a port is blocked, unless the job allows it by number.
pub fn is_blocked_port(port: u16) -> bool {
    BLOCKED.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_other_protocols_are_blocked() {
        assert!(BLOCKED.is_sorted());
        for port in [0, 22, 25, 53, 465, 6000, 6379, 6667, 10080, 11211] {
            assert!(is_blocked_port(port), "{port}");
        }
        for port in [80, 81, 443, 3000, 5000, 8000, 8080, 8443, 9200, 49_152, 65_535] {
            assert!(!is_blocked_port(port), "{port}");
        }
    }
}
