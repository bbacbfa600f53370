//! The system's resolver configuration: resolv.conf(5), with what the environment and the host's name add to it.
//!
//! What cannot be used is not an error, as in libc: the rest is taken. It is told in [`ResolvConf::warnings`]: what was given,
//! what is allowed. Differences from glibc: all servers are taken, not the first three (`MAXNS`); blanks before a keyword and
//! comments after the values are allowed, too; a server that is named twice counts once.

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

/// Where the system has it.
const PATH: &str = "/etc/resolv.conf";

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 16;

/// The port of DNS.
const PORT: u16 = 53;

/// What lines are allowed.
const ALLOWED: &str = "nameserver, search, domain, sortlist, options";

/// What servers are allowed.
const SERVERS: &str = "an IPv4 address, an IPv6 address, a link-local one with its interface: 192.0.2.1, 2001:db8::1, fe80::1%eth0";

/// A resolver configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    /// The servers, the preferred one first; 127.0.0.1 where none is given, as in libc.
    pub servers: Vec<Nameserver>,
    /// The search domains in normal form; the root is `.`.
    pub search: Vec<String>,
    /// The options.
    pub options: ResolvOptions,
    /// What was given but could not be used.
    pub warnings: Vec<String>,
}

/// What has a say besides the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'s> {
    /// The variable RES_OPTIONS: options that are read after those of the file.
    pub options: Option<&'s str>,
    /// The variable LOCALDOMAIN: search domains instead of those of the file; an empty one is none.
    pub domains: Option<&'s str>,
    /// The host's name: its domain is searched where nobody says which to search.
    pub host_name: Option<&'s str>,
}

impl ResolvConf {
    /// What `/etc/resolv.conf`, this process' environment and the host's name say.
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

    /// Reads a file. One that does not exist is an empty one.
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

    /// Reads a text.
    pub fn parse(text: &str, surroundings: Surroundings<'_>) -> Self {
        let index = |name: &str| nix::net::if_::if_nametoindex(name).ok();
        Self::parse_on(text, surroundings, index)
    }

    /// Reads a text on a host whose network interfaces have these indexes.
    fn parse_on(
        text: &str,
        surroundings: Surroundings<'_>,
        interfaces: impl Fn(&str) -> Option<u32>,
    ) -> Self {
        let mut options = ResolvOptions::default();
        let (mut servers, mut search, mut warnings) = (Vec::new(), None, Warnings::default());
        let text = text.strip_prefix('\u{feff}').unwrap_or(text); // with which some editors begin a file
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
            domains(own.into_iter(), "the host's name", &mut warnings)
        });
        if servers.is_empty() {
            servers.push(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT).into());
        }
        ResolvConf { servers, search, options, warnings: warnings.finish() }
    }

    /// Sets what a client has settings for: the servers, and what the options say of time-out, attempts, turns and IPv6. What they do
    /// not say stays as it is. An attempt is libc's, which asks each server. IPv6 stays where it alone is wanted.
    pub fn apply(&self, settings: &mut Settings) {
        settings.servers.clone_from(&self.servers);
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

/// The resolvers that `/etc/resolv.conf` names; 127.0.0.1 where it names none or does not exist, as in libc.
pub fn system_servers() -> io::Result<Vec<Nameserver>> {
    ResolvConf::system().map(|system| system.servers)
}

/// The words of a line, up to a comment.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split_ascii_whitespace().take_while(|word| !word.starts_with(['#', ';']))
}

/// Domains to search, each once.
fn domains<'w>(words: impl Iterator<Item = &'w str>, place: &str, warnings: &mut Warnings) -> Vec<String> {
    let mut domains: Vec<String> = Vec::new();
    for word in words {
        let mut buffer = String::new();
        let domain = match word {
            "." => word.to_owned(),
            // As in libc, which drops a dot before the domain.
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

/// The server that a text names. Replies are known by the address that they come from, so it is written as the system writes it.
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
        // "This host": whoever answers does so from its address.
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT).into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), PORT).into(),
        IpAddr::V4(_) => SocketAddr::new(address, PORT).into(),
        IpAddr::V6(address) => SocketAddr::V6(SocketAddrV6::new(address, PORT, 0, scope)).into(),
    })
}

#[cfg(test)]
mod tests;
