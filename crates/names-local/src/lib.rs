//! Names that are answered without a DNS server: the hosts file, local data, and the system's resolver
//! configuration with its search domains.

mod hosts;
mod local_data;
mod resolv_conf;
mod search;
mod table;
mod warnings;

pub use hosts::{Hosts, HostsFile, SharedHosts};
pub use local_data::{BadLocalData, LocalAnswer, LocalData, LocalRecord, RecordData};
pub use resolv_conf::{ResolvConf, ResolvOptions, Surroundings, system_servers};
pub use search::{BadSearch, SearchList};
pub use table::{BadAlias, LocalTable};
