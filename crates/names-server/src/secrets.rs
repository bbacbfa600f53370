//! Cookie secrets from a file that servers behind one address, or with an anycast address, share.
//!
//! Guarantee: neither error messages nor debug output contain a secret.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::libc::O_NONBLOCK;

/// A secret: a SipHash key (RFC 9018 section 4.4).
pub(crate) type Secret = [u8; 16];

/// Maximum number of bytes read: more than two lines need.
const LONGEST: u64 = 1_024;

/// Mode bits that must be clear: write for the group, all for others. Whoever knows a secret can make cookies
/// for any address.
const FORBIDDEN: u32 = 0o027;

/// Expected content of the file.
const CONTENT: &str =
    "a file of one or two lines of 32 hexadecimal digits each, as `openssl rand -hex 16` makes them";

/// Secrets that make and verify cookies.
#[derive(Clone, PartialEq, Eq)]
pub struct CookieSecrets {
    /// Makes and verifies cookies.
    pub(crate) first: Secret,
    /// Only verifies cookies, so that all servers can get a new secret before any of them makes cookies with
    /// it.
    pub(crate) second: Option<Secret>,
}

impl fmt::Debug for CookieSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CookieSecrets(..)")
    }
}

impl CookieSecrets {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Describes what is allowed if the file cannot be read, has other content, or is accessible to others.
    pub fn read(path: &Path) -> Result<Self, String> {
        let system = |error: std::io::Error| format!("a file that can be read: {error}");
        // O_NONBLOCK: opening a pipe must not block.
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(O_NONBLOCK).open(path).map_err(system)?;
        let known = file.metadata().map_err(system)?;
        if !known.is_file() {
            return Err(CONTENT.to_owned());
        }
        if known.mode() & FORBIDDEN != 0 {
            let (mode, path) = (known.mode() & 0o777, path.display());
            return Err(format!(
                "a file that only its owner writes, and only its owner and group read; this one has mode {mode:03o}: \
                 `chmod 640 {path}`, and make new secrets if others have read them"
            ));
        }
        let mut text = Vec::new();
        file.take(LONGEST).read_to_end(&mut text).map_err(system)?;
        Self::parse(&text)
    }

    /// Parses the content of a file.
    fn parse(text: &[u8]) -> Result<Self, String> {
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
        let mut secrets = Vec::new();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            secrets.push(secret(line).ok_or_else(|| format!("{CONTENT}; line {} is none", number + 1))?);
        }
        match secrets[..] {
            [first] => Ok(CookieSecrets { first, second: None }),
            [first, second] => Ok(CookieSecrets { first, second: Some(second) }),
            _ => Err(format!("{CONTENT}; this one has {}", secrets.len())),
        }
    }
}

/// Parses a secret in hexadecimal digits.
fn secret(line: &[u8]) -> Option<Secret> {
    let is_whole = line.len() == 32 && line.iter().all(u8::is_ascii_hexdigit);
    let number = u128::from_str_radix(str::from_utf8(line).ok().filter(|_| is_whole)?, 16).ok()?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const TEXT: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";

    #[test]
    fn the_first_line_makes_cookies_and_a_second_one_vouches_for_them() {
        let secrets = |text: &str| CookieSecrets::parse(text.as_bytes());
        let one = secrets(TEXT).unwrap();
        assert_eq!((one.first[0], one.first[15], one.second), (0xe5, 0xcf, None));
        let two = secrets(&format!(" {}\r\n\n{TEXT}\n", TEXT.to_uppercase().replace('E', "0"))).unwrap();
        assert_eq!((two.first[0], two.second), (0x05, Some(one.first)));
    }

    #[test]
    fn nothing_of_a_secret_is_told_where_a_file_holds_something_else() {
        for (text, why) in [
            (String::new(), "this one has 0"),
            (TEXT.repeat(2), "line 1 is none"),
            (format!("{TEXT}\n{}", &TEXT[1..]), "line 2 is none"),
            (format!("{TEXT}\n{TEXT}\n{TEXT}"), "this one has 3"),
            (format!("+{}", &TEXT[1..]), "line 1 is none"),
            ("\u{e9}".repeat(16), "line 1 is none"),
        ] {
            let error = CookieSecrets::parse(text.as_bytes()).unwrap_err();
            assert!(error.ends_with(why) && !error.contains("e5e9"), "{error}");
        }
        assert_eq!(format!("{:?}", CookieSecrets::parse(TEXT.as_bytes()).unwrap()), "CookieSecrets(..)");
    }

    #[test]
    fn a_file_that_others_may_read_or_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, TEXT).unwrap();
        for (mode, is_taken) in
            [(0o600, true), (0o440, true), (0o640, true), (0o644, false), (0o660, false), (0o602, false)]
        {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let read = CookieSecrets::read(&path);
            assert_eq!(read.is_ok(), is_taken, "{mode:o}");
            if let Err(error) = read {
                let told = format!("mode {mode:03o}: `chmod 640 {}`", path.display());
                assert!(error.contains(&told) && !error.contains(TEXT), "{error}");
            }
        }
        assert!(CookieSecrets::read(folder.path()).unwrap_err().starts_with(CONTENT), "a folder");
        let error = CookieSecrets::read(&folder.path().join("none")).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }
}
