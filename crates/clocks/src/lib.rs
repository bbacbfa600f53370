//! Politeness clocks of hosts and addresses, shared by all frontiers of a process and by all crawls of a machine.
//!
//! A frontier asks [`Clocks::start`] before it leases a request, and reports its end by [`Clocks::end`]. The table lies in a mapped
//! file, or in memory of the process for its shards alone.
//!
//! Guarantees, for all users of one table together:
//! 1. Two requests for one key start no closer than the longest interval that a user of the key has asked for lately.
//! 2. No more requests for a key are in flight than the smallest concurrency that a user of the key has asked for lately.
//! 3. A request of a process that died counts as ended when its death is noticed; no user waits for it longer than for its lease.
//! 4. If the table has no free entry for a key, the request is delayed, never sent unclocked.

mod file;
mod table;

pub use file::OpenError;
pub use table::{Busy, Claim, ClockKey, Clocks, Ticket};
