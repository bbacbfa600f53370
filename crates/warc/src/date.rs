//! Dates of records: UTC, as WARC and CDXJ write them.

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A time in microseconds since 1970 as a date of WARC 1.1 (W3C profile of ISO 8601), such as `2026-11-29T18:02:05.120000Z`.
pub fn date(micros: i64) -> String {
    let (year, month, day, seconds) = parts(micros.div_euclid(1_000_000));
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = micros.rem_euclid(1_000_000);
    let tail = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{tail}Z")
}

/// The 14 digits of a date, as CDXJ has them; `None`: it is none.
pub fn compact_date(date: &str) -> Option<String> {
    let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
    let is_date = digits.len() == 14
        && date.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'T' | b'Z' | b'.'));
    is_date.then_some(digits)
}

/// The time of a date, in microseconds since 1970; `None`: it is none. The time of day may be missing.
pub fn micros(date: &str) -> Option<i64> {
    let digits: String = date.chars().filter(char::is_ascii_digit).collect();
    let is_date = digits.len() >= 8
        && date.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'T' | b'Z' | b'.'));
    is_date.then_some(())?;
    let part = |from: usize, to: usize| -> Option<i64> {
        digits
            .get(from..to.min(digits.len()))
            .map_or(Some(0), |part| format!("{part:0<0$}", to - from).parse().ok())
    };
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(())?;
    let (of_year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = of_year * 365 + of_year.div_euclid(4) - of_year.div_euclid(100)
        + of_year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
        - 719_468;
    let seconds = days * DAY + part(8, 10)? * 3_600 + part(10, 12)? * 60 + part(12, 14)?;
    Some(seconds * 1_000_000 + part(14, 20)?)
}

/// Year, month and day of a count of seconds, and the seconds of that day.
fn parts(seconds: i64) -> (i64, i64, i64, i64) {
    let (days, of_day) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // Days since 0000-03-01, so that a leap day ends a year: the count of Howard Hinnant's days_from_civil.
    let from_march = days + 719_468;
    let (era, of_era) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day, of_day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400_000_000), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_795_975_325_120_000), "2026-11-29T18:02:05.120000Z");
        assert_eq!(date(-1_000_000), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn digits_of_dates() {
        assert_eq!(compact_date("2026-11-29T18:02:05.12Z").as_deref(), Some("20261129180205"));
        assert_eq!(compact_date("yesterday"), None);
        assert_eq!(compact_date("2026"), None);
        assert_eq!(micros("2000-02-29"), Some(951_782_400_000_000));
        assert_eq!(
            [micros("20000229"), micros("now"), micros("2026-13-01")],
            [Some(951_782_400_000_000), None, None]
        );
    }

    proptest! {
        #[test]
        fn each_second_has_a_date_of_its_own(second in 0i64..4_000_000_000) {
            prop_assert!(date(second * 1_000_000) < date((second + 1) * 1_000_000));
            prop_assert_eq!(micros(&date(second * 1_000_000 + 5)), Some(second * 1_000_000 + 5));
        }
    }
}
