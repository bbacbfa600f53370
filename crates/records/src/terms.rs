//! What a site asks for before it serves a page: a price (pay per crawl: status 402 with `crawler-price`) or a licence (RSL 1.0:
//! `WWW-Authenticate: License`). Lycosa pays nothing and asks for no licence: it tells what was asked for. Which licences a site names
//! is in `license.rs`.

use std::fmt;

use crate::Received;

/// Statuses of a response that asks for a price or a licence.
const UNAUTHORIZED: u16 = 401;
const PAYMENT_REQUIRED: u16 = 402;

/// Bytes of a price, at most.
const MAX_BYTES: usize = 1_024;

/// Millionths of a unit of currency, at most: sums of prices stay below what a site can make up.
const MAX_MILLIONTHS: u64 = 1_000_000_000_000_000;

/// A price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// The currency (ISO 4217), or what the site writes instead, in upper case.
    pub currency: String,
    /// The number, as the site writes it.
    amount: String,
    /// Millionths of the currency's unit; what is less is cut.
    pub millionths: u64,
}

impl fmt::Display for Price {
    /// As sites write it: the currency and a decimal number.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.currency, self.amount)
    }
}

/// The price that a response asks for, such as `USD 0.01`; `None`: none.
pub fn price(received: &Received) -> Option<Price> {
    let value = received.head.get("crawler-price").filter(|_| received.status == PAYMENT_REQUIRED)?;
    parse_price(&value)
}

/// Whether a page was not served for want of a licence.
pub fn is_refused_without_license(received: &Received) -> bool {
    let is_license = |challenge: &str| {
        let scheme = challenge.split([' ', '\t']).next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("license")
    };
    matches!(received.status, UNAUTHORIZED | PAYMENT_REQUIRED)
        && received.head.get_all("www-authenticate").any(|value| parts(&value, ',').any(is_license))
}

/// Reads a price: a currency and a decimal number.
fn parse_price(text: &str) -> Option<Price> {
    let mut words = text.split_whitespace();
    let (currency, amount) = (words.next()?, words.next()?);
    let is_currency =
        (3..=8).contains(&currency.len()) && currency.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let (units, parts) = amount.split_once('.').unwrap_or((amount, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_amount = is_number(units) && is_number(parts) && amount.len() > 1 - units.len().min(1);
    if !is_currency || !is_amount || words.next().is_some() || text.len() > MAX_BYTES {
        return None;
    }
    let parts: String = parts.chars().chain("000000".chars()).take(6).collect();
    let units = if units.is_empty() { 0 } else { units.parse::<u64>().ok()? };
    let millionths = units.checked_mul(1_000_000)?.checked_add(parts.parse().ok()?)?;
    let (currency, amount) = (currency.to_ascii_uppercase(), amount.to_owned());
    (millionths <= MAX_MILLIONTHS).then_some(Price { currency, amount, millionths })
}

/// The parts of a value between separators, which count neither in quoted strings nor in `<…>`; without spaces around.
pub(crate) fn parts(value: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped, mut bracketed) = (false, false, false);
    value
        .split(move |letter: char| {
            let is_separator = letter == separator && !quoted && !bracketed;
            match letter {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' if !bracketed => quoted = !quoted,
                '<' if !quoted => bracketed = true,
                '>' if !quoted => bracketed = false,
                _ => {}
            }
            is_separator
        })
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Head;

    fn received(status: u16, fields: &[(&str, &str)]) -> Received {
        let head = Head::of(&format!("HTTP/1.1 {status} x"), fields.iter().copied()).unwrap();
        Received { status, head, ..Received::default() }
    }

    #[test]
    fn a_price_is_a_currency_and_a_number() {
        let asked = |value: &str| {
            let price = price(&received(402, &[("crawler-price", value)]))?;
            Some((price.to_string(), price.millionths))
        };
        let told = |text: &str, millionths| Some((text.to_owned(), millionths));
        assert_eq!(asked("USD 0.01"), told("USD 0.01", 10_000));
        assert_eq!(asked("usd \t12"), told("USD 12", 12_000_000));
        assert_eq!(asked("USD .5"), told("USD .5", 500_000));
        assert_eq!(asked("IDR 2000000"), told("IDR 2000000", 2_000_000_000_000));
        assert_eq!(asked("USD 0.0000019"), told("USD 0.0000019", 1), "what is less than a millionth is cut");
        for bad in [
            "",
            "USD",
            "0.01",
            "USD -1",
            "USD 1e9",
            "USD 1.2.3",
            "$ 1",
            "USD 99999999999999999999",
            "USD .",
            "USD 1 1",
        ] {
            assert_eq!(asked(bad), None, "{bad}");
        }
        assert_eq!(price(&received(200, &[("crawler-price", "USD 1")])), None, "it was served");
    }

    #[test]
    fn a_licence_is_required_by_a_challenge_among_others() {
        for (status, value, is_required) in [
            (401, "License error=\"invalid_request\"", true),
            (402, "Basic realm=\"a, License b\", License", true),
            (401, "Basic realm=\"License, x\"", false),
            (200, "License", false),
        ] {
            let found = is_refused_without_license(&received(status, &[("www-authenticate", value)]));
            assert_eq!(found, is_required, "{value}");
        }
    }
}
