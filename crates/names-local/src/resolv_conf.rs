//! The system's resolver configuration: resolv.conf(5), environment variables and host name.
//!
//! As in libc, unusable entries are not errors: the rest is used. They are reported in
//! [`ResolvConf::warnings`], with what is allowed. Differences from glibc: all servers are used, not only the
//! first three (`MAXNS`); blanks before a keyword and comments after the values are allowed; duplicate
//! servers count once.

mod options;

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::path::Path;

pub use options::ResolvOptions;

use crate::warnings::{Warnings, quoted};
use lycosa_names::HostName;
use lycosa_names::Nameserver;
use lycosa_names::{Families, Settings};

/// The system's file.
const PATH: &str = "/etc/resolv.conf";

/// Maximum size of the file in bytes.
const MAX_FILE: u64 = 1 << 16;

/// The port of DNS.
const PORT: u16 = 53;

/// Allowed keywords.
const ALLOWED: &str = "nameserver, search, domain, sortlist, options";

/// Allowed servers.
const SERVERS: &str = "an IPv4 address, an IPv6 address, or a link-local one with its interface: 192.0.2.1, 2001:db8::1, fe80::1%eth0";

/// A resolver configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    /// DNS servers in order of preference; 127.0.0.1 if the file has none, as in libc.
    pub servers: Vec<Nameserver>,
    /// The search domains in normal form; the root is `.`.
    pub search: Vec<String>,
    /// The options.
    pub options: ResolvOptions,
    /// Entries that could not be used.
    pub warnings: Vec<String>,
}

/// Settings from outside the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'s> {
    /// Value of RES_OPTIONS: options that are applied after those of the file.
    pub options: Option<&'s str>,
    /// Value of LOCALDOMAIN: replaces the search domains of the file; empty: no search domains.
    pub domains: Option<&'s str>,
    /// The host name; its domain is the search domain if neither the file nor LOCALDOMAIN gives any.
    pub host_name: Option<&'s str>,
}

impl ResolvConf {
    /// Reads `/etc/resolv.conf`, this process's environment and the host name.
    pub fn system() -> io::Result<Self> {
        let variable = |name| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
        let (options, domains) = (variable("RES_OPTIONS"), variable("LOCALDOMAIN"));
        let host_name = nix::unistd::gethostname().ok().map(|name| name.to_string_lossy().into_owned());
        let surroundings = Surroundings {
            options: options.as_deref(),
            domains: domains.as_deref(),
            host_name: host_name.as_deref(),
        };
        Self::read(Path::new(PATH), surroundings)
    }

    /// Reads a file. A missing file counts as empty.
    pub fn read(path: &Path, surroundings: Surroundings<'_>) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => {
                file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(named)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(named(error)),
        }
        if bytes.len() as u64 > MAX_FILE {
            let why = format!("the file has more than {MAX_FILE} bytes, which is the most that is allowed");
            return Err(named(io::Error::new(io::ErrorKind::FileTooLarge, why)));
        }
        Ok(Self::parse(&String::from_utf8_lossy(&bytes), surroundings))
    }

    /// Parses a text.
    pub fn parse(text: &str, surroundings: Surroundings<'_>) -> Self {
        let index = |name: &str| nix::net::if_::if_nametoindex(name).ok();
        Self::parse_on(text, surroundings, index)
    }

    /// Parses a text; `interfaces` maps network interface names to indexes.
    fn parse_on(
        text: &str,
        surroundings: Surroundings<'_>,
        interfaces: impl Fn(&str) -> Option<u32>,
    ) -> Self {
        let mut options = ResolvOptions::default();
        let (mut servers, mut search, mut warnings) = (Vec::new(), None, Warnings::default());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // byte order mark of some editors
        for (line, number) in text.lines().zip(1..) {
            let place = format!("resolv.conf line {number}");
            let mut words = words(line);
            match words.next() {
                None => (),
                Some("nameserver") => {
                    let text = words.next().unwrap_or_default();
                    match server(text, &interfaces, &place, &mut warnings) {
                        Some(server) if servers.contains(&server) => (),
                        Some(server) => servers.push(server),
                        None => (),
                    }
                }
                Some(keyword @ ("search" | "domain")) => {
                    let most = if keyword == "domain" { 1 } else { usize::MAX };
                    let mut words = words.take(most).peekable();
                    if words.peek().is_none() {
                        warnings.add(|| format!("{place}: {keyword} is ignored, as no domain follows"));
                    } else {
                        search = Some(domains(words, &place, &mut warnings));
                    }
                }
                Some("options") => options.amend(words, &place, &mut warnings),
                Some("sortlist") => warnings.add(|| format!("{place}: sortlist has no effect here")),
                Some(word) => {
                    warnings.add(|| format!("{place}: unknown keyword {}; allowed: {ALLOWED}", quoted(word)))
                }
            }
        }
        if let Some(text) = surroundings.options {
            options.amend(text.split_ascii_whitespace(), "RES_OPTIONS", &mut warnings);
        }
        if let Some(text) = surroundings.domains {
            search = Some(domains(text.split_ascii_whitespace(), "LOCALDOMAIN", &mut warnings));
        }
        let search = search.unwrap_or_else(|| {
            let own = surroundings.host_name.and_then(|name| Some(name.split_once('.')?.1));
            domains(own.into_iter(), "the host name", &mut warnings)
        });
        if servers.is_empty() {
            servers.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT).into());
        }
        ResolvConf { servers, search, options, warnings: warnings.finish() }
    }

    /// Sets the client settings for which there is an option: servers, time-out, attempts, rotation and IPv6.
    /// Options that are not given change nothing. `attempts` counts rounds over all servers, as in libc, and
    /// is multiplied by their number. `no-aaaa` has no effect if only IPv6 is requested.
    pub fn apply(&self, settings: &mut Settings) {
        settings.servers.clone_from(&self.servers);
        settings.own_domains.clone_from(&self.search);
        settings.timeout = self.options.timeout.unwrap_or(settings.timeout);
        if let Some(attempts) = self.options.attempts {
            let servers = u32::try_from(self.servers.len()).unwrap_or(u32::MAX);
            settings.attempts = attempts.saturating_mul(servers);
        }
        settings.rotate |= self.options.rotate;
        if self.options.no_aaaa && settings.families == Families::Both {
            settings.families = Families::V4;
        }
    }
}

/// The servers of `/etc/resolv.conf`; 127.0.0.1 if it has none or does not exist, as in libc.
pub fn system_servers() -> io::Result<Vec<Nameserver>> {
    ResolvConf::system().map(|system| system.servers)
}

/// The words of a line, up to a comment.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_ascii_whitespace().take_while(|word| !word.starts_with(['#', ';']))
}

/// Search domains without duplicates.
fn domains<'w>(words: impl Iterator<Item = &'w str>, place: &str, warnings: &mut Warnings) -> Vec<String> {
    let mut domains: Vec<String> = Vec::new();
    for word in words {
        let mut buffer = String::new();
        let domain = match word {
            "." => word.to_owned(),
            // As in libc, a leading dot is dropped.
            _ => match HostName::normalize(word.strip_prefix('.').unwrap_or(word), &mut buffer) {
                Ok(name) => name.as_str().to_owned(),
                Err(why) => {
                    warnings.add(|| {
                        format!(
                            "{place}: {} is not searched: {why}; allowed: a domain's name, or . alone",
                            quoted(word)
                        )
                    });
                    continue;
                }
            },
        };
        if !domains.contains(&domain) {
            domains.push(domain);
        }
    }
    domains
}

/// Parses a server. The address is normalized, since replies are matched by the address that the system
/// reports.
fn server(
    text: &str,
    interfaces: impl Fn(&str) -> Option<u32>,
    place: &str,
    warnings: &mut Warnings,
) -> Option<Nameserver> {
    let (address, interface) = match text.split_once('%') {
        Some((address, interface)) => (address, Some(interface)),
        None => (text, None),
    };
    let address = match address.parse().map(|address: IpAddr| address.to_canonical()) {
        Ok(IpAddr::V4(_)) if interface.is_some() => None,
        other => other.ok(),
    };
    let Some(address) = address else {
        warnings.add(|| format!("{place}: no server: {}; allowed: {SERVERS}", quoted(text)));
        return None;
    };
    let scope = match (address, interface) {
        (IpAddr::V6(v6), Some(name)) if v6.is_unicast_link_local() => {
            let index = name.parse().ok().or_else(|| interfaces(name));
            let Some(index) = index.filter(|index| *index != 0) else {
                warnings.add(|| {
                    format!(
                        "{place}: {} is not asked: this host has no network interface {}; allowed after %: an \
                         interface's name, or its index from 1 on",
                        quoted(text),
                        quoted(name)
                    )
                });
                return None;
            };
            index
        }
        (IpAddr::V6(v6), None) if v6.is_unicast_link_local() => {
            warnings.add(|| {
                format!("{place}: {text} is link-local and has no interface; most systems need {text}%eth0")
            });
            0
        }
        (_, Some(name)) => {
            warnings.add(|| {
                format!("{place}: the interface {} has no effect: {address} is not link-local", quoted(name))
            });
            0
        }
        _ => 0,
    };
    Some(match address {
        // The unspecified address means this host; replies come from its loopback address.
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT).into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), PORT).into(),
        IpAddr::V4(_) => SocketAddr::new(address, PORT).into(),
        IpAddr::V6(address) => SocketAddr::V6(SocketAddrV6::new(address, PORT, 0, scope)).into(),
    })
}

#[cfg(test)]
mod tests;
