//! Records as columns. A column is declared once; its type, its Arrow array, its JSON and its setter follow
//! from the declaration.

mod arrow;
mod cells;
mod copy;
mod json;
mod tables;
mod value;

use std::borrow::Cow;

use bytes::Bytes;
use lycosa_url::Micros;

use crate::{License, Metadata, UsagePreference};

pub use arrow::{record_batch, schema};
pub use cells::{Plain, plain_values, write_csv, write_names};
pub use copy::copied;
pub use json::write_lines;
pub use value::{Value, WrongValue};

/// A column of records of one kind.
#[derive(Debug)]
pub struct Column<T: 'static> {
    /// Its name.
    pub name: &'static str,
    /// Description, in one line.
    pub meaning: &'static str,
    /// Whether outputs have it by default.
    pub is_usual: bool,
    get: Get<T>,
    set: Option<Set<T>>,
}

/// Sets a column's value.
type Set<T> = fn(&mut T, Value) -> Result<(), WrongValue>;

/// A name and a value.
type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The items of a list.
type Items<'a, I> = Box<dyn Iterator<Item = I> + 'a>;

/// How a column's values are read. `None` becomes null.
#[derive(Clone, Copy, Debug)]
enum Get<T: 'static> {
    /// Text that every record has.
    Text(for<'a> fn(&'a T) -> &'a str),
    /// Text that may be missing.
    MaybeText(for<'a> fn(&'a T) -> Option<Cow<'a, str>>),
    /// A status code.
    Status(fn(&T) -> Option<u16>),
    /// A number of 32 bits.
    Number(fn(&T) -> u32),
    /// A number of 64 bits.
    Large(fn(&T) -> u64),
    /// A number of 32 bits that may be below 0.
    Signed(fn(&T) -> i32),
    /// A flag.
    Flag(fn(&T) -> bool),
    /// A time: microseconds since the epoch, in UTC.
    Time(fn(&T) -> Micros),
    /// A list of texts.
    Texts(for<'a> fn(&'a T) -> Items<'a, Cow<'a, str>>),
    /// A list of numbers of 32 bits that may be below 0.
    Numbers(for<'a> fn(&'a T) -> Items<'a, i32>),
    /// A list of flags.
    Flags(for<'a> fn(&'a T) -> Items<'a, bool>),
    /// A list of steps: URL and status.
    Steps(for<'a> fn(&'a T) -> Items<'a, (&'a str, u16)>),
    /// A list of header fields: name and value.
    Fields(for<'a> fn(&'a T) -> Items<'a, Pair<'a>>),
    /// A list of preferences: use, whether it is allowed, and source.
    Preferences(for<'a> fn(&'a T) -> Items<'a, &'a UsagePreference>),
    /// A list of licences: URL and source.
    Licenses(for<'a> fn(&'a T) -> Items<'a, License>),
    /// JSON values by name: text in Arrow, an object in JSON.
    Json(for<'a> fn(&'a T) -> Option<&'a Metadata>),
    /// Bytes. In JSON lines, text is written under the column's name, other bytes as base64 under
    /// `NAME_base64`; the other key is null. The charset decides whether they are text.
    Bytes(for<'a> fn(&'a T) -> Option<&'a Bytes>, for<'a> fn(&'a T) -> Option<&'a str>),
    /// The same bytes as text.
    DecodedText(for<'a> fn(&'a T) -> Option<&'a Bytes>, for<'a> fn(&'a T) -> Option<&'a str>),
}

/// A record type with columns.
pub trait Columns: Sized + 'static {
    /// All columns, in their order.
    fn columns() -> &'static [Column<Self>];

    /// The column with a name.
    fn column(name: &str) -> Option<&'static Column<Self>> {
        Self::columns().iter().find(|column| column.name == name)
    }
}

impl<T> Column<T> {
    /// The type of its values: `text`, `int`, `bigint`, `bool`, `time`, `json` or `bytes`.
    pub fn type_name(&self) -> &'static str {
        match self.get {
            Get::Text(_) | Get::MaybeText(_) | Get::DecodedText(..) => "text",
            Get::Status(_) | Get::Signed(_) => "int",
            Get::Number(_) | Get::Large(_) => "bigint",
            Get::Flag(_) => "bool",
            Get::Time(_) => "time",
            Get::Bytes(..) => "bytes",
            Get::Texts(_)
            | Get::Numbers(_)
            | Get::Flags(_)
            | Get::Steps(_)
            | Get::Fields(_)
            | Get::Preferences(_)
            | Get::Licenses(_)
            | Get::Json(_) => "json",
        }
    }

    /// Whether its values can be set.
    pub fn is_settable(&self) -> bool {
        self.set.is_some()
    }

    /// Sets the column's value of a record.
    pub fn set(&self, record: &mut T, value: Value) -> Result<(), WrongValue> {
        match self.set {
            Some(set) => set(record, value),
            None => {
                Err(WrongValue { given: value.name(), allowed: "no value: this column cannot be changed" })
            }
        }
    }
}

/// Decodes bytes of a character encoding to text: passed by the caller, since decoding belongs to another
/// component.
#[derive(Clone, Copy, Debug)]
pub struct TextDecoder {
    /// Returns the text of bytes in an encoding; `None` if they are not text or it exceeds the limit, in
    /// bytes.
    pub decode: for<'a> fn(&'a [u8], &str, usize) -> Option<Cow<'a, str>>,
    /// Maximum size of a text, in bytes.
    pub largest: usize,
}

impl TextDecoder {
    /// The text of a body; `None` if there is no body, it is not text, or it is too large.
    fn text<'a>(&self, body: Option<&'a Bytes>, charset: Option<&str>) -> Option<Cow<'a, str>> {
        (self.decode)(body?, charset?, self.largest)
    }
}
