//! Dates as pages write them, as ISO 8601 days.
//!
//! Guarantees: what is returned is a day that exists, from [`FIRST`] to [`LAST`].

/// The first and the last year that a page is taken to be of.
pub const FIRST: u32 = 1990;
/// See [`FIRST`].
pub const LAST: u32 = 2100;

/// Names of months in English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Turkish, Arabic and Thai, then in
/// Scandinavian languages, Indonesian, Romanian, Finnish, Czech, Hungarian, Greek, Ukrainian and Hebrew; beginnings of at least three
/// letters are theirs.
const MONTHS: [&str; 12] = [
    "january januar janvier enero janeiro gennaio januari jänner stycznia styczeń января январь ocak يناير มกราคม \
     ianuarie tammikuuta ledna január ιανουαρίου січня ינואר בינואר",
    "february februar février fevrier febrero fevereiro febbraio februari lutego luty февраля февраль şubat فبراير กุมภาพันธ์ \
     februarie helmikuuta února február φεβρουαρίου лютого פברואר בפברואר شباط",
    "march märz maerz mars marzo março marco maart mrt marca marzec марта март mart مارس มีนาคม \
     maret martie maaliskuuta března március μαρτίου березня מרץ במרץ آذار",
    "april avril abril aprile kwietnia kwiecień апреля апрель nisan أبريل ابريل เมษายน \
     aprilie huhtikuuta dubna április απριλίου квітня אפריל באפריל نيسان",
    "may mai mayo maio maggio mei maja maj мая май mayıs مايو พฤษภาคม \
     toukokuuta května május μαΐου травня מאי במאי أيار",
    "june juni juin junio junho giugno czerwca czerwiec июня июнь haziran يونيو มิถุนายน \
     iunie kesäkuuta června június ιουνίου червня יוני ביוני حزيران",
    "july juli juillet julio julho luglio lipca lipiec июля июль temmuz يوليو กรกฎาคม \
     iulie heinäkuuta července július ιουλίου липня יולי ביולי تموز",
    "august août aout agosto augustus sierpnia sierpień августа август ağustos أغسطس สิงหาคม \
     augusti agustus elokuuta srpna augusztus αυγούστου серпня אוגוסט באוגוסט آب",
    "september septembre septiembre setembro settembre sept września wrzesień сентября сентябрь eylül سبتمبر กันยายน \
     septembrie syyskuuta září szeptember σεπτεμβρίου вересня ספטמבר בספטמבר أيلول",
    "october oktober octobre octubre outubro ottobre października październik октября октябрь ekim أكتوبر اكتوبر ตุลาคม \
     octombrie lokakuuta října október οκτωβρίου жовтня אוקטובר באוקטובר",
    "november novembre noviembre novembro listopada listopad ноября ноябрь kasım نوفمبر พฤศจิกายน \
     noiembrie marraskuuta νοεμβρίου листопада נובמבר בנובמבר",
    "december dezember décembre decembre diciembre dezembro dicembre grudnia grudzień декабря декабрь aralık ديسمبر ธันวาคม \
     desember decembrie joulukuuta prosince δεκεμβρίου грудня דצמבר בדצמבר",
];

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: u32,
    month: u32,
    day: u32,
}

impl std::fmt::Display for Day {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Day {
    /// A day, if it exists. A year of the Buddhist era, as in Thailand, is 543 more than that of the common one.
    fn of(year: u32, month: u32, day: u32) -> Option<Self> {
        let year = if (FIRST + 543..=LAST + 543).contains(&year) { year - 543 } else { year };
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 => 28 + u32::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        ((FIRST..=LAST).contains(&year) && (1..=days).contains(&day)).then_some(Day { year, month, day })
    }
}

/// A number or a word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Number { value: u32, digits: usize },
    Word(String),
    Mark(char),
}

/// The first date in a text. Of `3/4/2024`, which is a day in April or in March, nothing is returned.
pub fn find(text: &str) -> Option<Day> {
    let parts = parts_of(text);
    (0..parts.len()).find_map(|at| of_parts(&parts[at..]))
}

/// The date at the beginning of some parts.
fn of_parts(parts: &[Part]) -> Option<Day> {
    numeric(parts).or_else(|| worded(parts))
}

/// `2024-05-13`, `2024/5/13`, `20240513`, `2024年5月13日`, `13.05.2024`, `31/12/2024`, `12/31/2024`.
fn numeric(parts: &[Part]) -> Option<Day> {
    let number = |at: usize| match parts.get(at) {
        Some(Part::Number { value, digits }) => Some((*value, *digits)),
        _ => None,
    };
    let mark = |at: usize| match parts.get(at) {
        Some(Part::Mark(mark)) => Some(*mark),
        Some(Part::Word(word)) if matches!(word.as_str(), "年" | "月" | "년" | "월") => {
            word.chars().next()
        }
        _ => None,
    };
    let (first, digits) = number(0)?;
    if digits == 8 {
        return Day::of(first / 10_000, first / 100 % 100, first % 100);
    }
    let (second, second_digits) = number(2)?;
    let (third, third_digits) = number(4)?;
    let (one, other) = (mark(1)?, mark(3)?);
    if digits == 4 && second_digits <= 2 && third_digits <= 2 {
        let is_date =
            matches!((one, other), ('-', '-') | ('/', '/') | ('.', '.') | ('年', '月') | ('년', '월'));
        return is_date.then(|| Day::of(first, second, third)).flatten();
    }
    if third_digits != 4 || digits > 2 || second_digits > 2 || one != other {
        return None;
    }
    match one {
        '.' => Day::of(third, second, first),
        '/' | '-' if first > 12 => Day::of(third, second, first),
        '/' | '-' if second > 12 || first == second => Day::of(third, first, second),
        _ => None,
    }
}

/// `May 13, 2024`, `13 May 2024`, `13. Mai 2024`, `13 de mayo de 2024`.
fn worded(parts: &[Part]) -> Option<Day> {
    let mut words = parts.iter().filter(|part| {
        !matches!(part, Part::Mark(',' | '.' | '-' | '/' | 'º' | 'ª' | '°'))
            && !matches!(part, Part::Word(word) if BETWEEN.contains(&word.as_str()))
    });
    match (words.next()?, words.next()?, words.next()?) {
        (
            Part::Word(word),
            Part::Number { value: day, digits: 1..=2 },
            Part::Number { value: year, digits: 4 },
        )
        | (
            Part::Number { value: day, digits: 1..=2 },
            Part::Word(word),
            Part::Number { value: year, digits: 4 },
        ) => Day::of(*year, month_of(word)?, *day),
        _ => None,
    }
}

/// Words that stand between the parts of a date.
const BETWEEN: [&str; 11] = ["de", "del", "of", "st", "nd", "rd", "th", "er", "o", "º", "r"];

/// The month of a name, or of its beginning.
fn month_of(word: &str) -> Option<u32> {
    let is_it =
        |names: &&str| word.chars().count() >= 3 && names.split(' ').any(|name| name.starts_with(word));
    MONTHS.iter().position(is_it).map(|at| at as u32 + 1)
}

/// A digit, also one of Arabic, Persian, Thai or of East Asian width.
fn digit_of(character: char) -> Option<u32> {
    let zero = ['0', '\u{660}', '\u{6f0}', '\u{e50}', '\u{ff10}'];
    zero.into_iter().find_map(|zero| (character as u32).checked_sub(zero as u32).filter(|digit| *digit < 10))
}

/// Numbers, words and marks of a text, in lower case; of long texts the beginning.
fn parts_of(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut characters = text.chars().take(400).peekable();
    while let Some(character) = characters.next() {
        if let Some(digit) = digit_of(character) {
            let (mut value, mut digits) = (digit, 1);
            while let Some(digit) = characters.peek().and_then(|next| digit_of(*next)) {
                value = value.saturating_mul(10).saturating_add(digit);
                digits += 1;
                characters.next();
            }
            parts.push(Part::Number { value, digits });
        } else if matches!(character, '年' | '月' | '日' | '년' | '월' | '일') {
            parts.push(Part::Word(character.to_string()));
        } else if character.is_alphabetic() {
            let mut word: String = character.to_lowercase().collect();
            while let Some(next) = characters.peek().filter(|next| next.is_alphabetic()) {
                word.extend(next.to_lowercase());
                characters.next();
            }
            parts.push(Part::Word(word));
        } else if !character.is_whitespace() {
            parts.push(Part::Mark(character));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day(text: &str) -> String {
        find(text).map_or_else(String::new, |day| day.to_string())
    }

    #[test]
    fn dates_as_they_are_written() {
        for text in [
            "2024-05-03",
            "2024-05-03T23:59:00+02:00",
            "20240503",
            "2024/5/3",
            "3.5.2024",
            "May 3, 2024",
            "Posted on 3rd May 2024",
            "3. Mai 2024",
            "3 de mayo de 2024",
            "le 3 mai 2024 à 12:00",
            "2024年5月3日",
            "2024년 5월 3일",
            "Fri, 03 May 2024 10:00:00 GMT",
            "3 de mayo del 2024",
            "3º de maio de 2024",
            "3-May-2024",
            "3/May/2024",
            "3 мая 2024 г.",
            "3 maja 2024",
            "٣ مايو ٢٠٢٤",
            "3 พฤษภาคม 2024",
            "２０２４年５月３日",
            "3 במאי 2024",
            "3 พฤษภาคม 2567",
            "3. toukokuuta 2024",
            "3. května 2024",
            "3 травня 2024",
        ] {
            assert_eq!(day(text), "2024-05-03", "{text}");
        }
        assert_eq!((day("31/12/2023"), day("12/31/2023")), ("2023-12-31".into(), "2023-12-31".into()));
        assert_eq!(day("14 juillet 2023"), "2023-07-14");
        assert_eq!(day("1er mai 2024"), "2024-05-01");
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "3/4/2024",
            "05-06-2024",
            "2024-13-01",
            "30 February 2024",
            "1234-01-01",
            "call 0123 4567",
            "May 2024",
            "1.2.3",
        ] {
            assert_eq!(day(text), "", "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([0-9]{1,9}|[-/.]|年|May| |de){0,9}") {
            find(&text);
        }
    }
}
