//! Names of elements, and what the standard's tree construction needs to know of each.

/// Makes the enumeration, and the functions from and to names.
macro_rules! tags {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// An element's name; all that nobody looks for are `Other`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "names of HTML")]
        pub enum Tag {
            Other,
            $($name),*
        }

        impl Tag {
            /// The tag of a name in lower case.
            pub fn of(name: &[u8]) -> Tag {
                match name {
                    $($text => Tag::$name,)*
                    _ => Tag::Other,
                }
            }

            /// Its name; empty for `Other`.
            pub fn name(self) -> &'static str {
                match self {
                    Tag::Other => "",
                    $(Tag::$name => match std::str::from_utf8($text) { Ok(text) => text, Err(_) => "" },)*
                }
            }
        }
    };
}

tags! {
    A = b"a", Abbr = b"abbr", Address = b"address", Area = b"area", Article = b"article", Aside = b"aside",
    Audio = b"audio", B = b"b", Base = b"base", Big = b"big", Blockquote = b"blockquote", Body = b"body", Br = b"br",
    Button = b"button", Canvas = b"canvas", Caption = b"caption", Center = b"center", Cite = b"cite", Code = b"code",
    Col = b"col", Colgroup = b"colgroup", Data = b"data", Dd = b"dd", Del = b"del", Details = b"details", Dialog = b"dialog",
    Dir = b"dir", Div = b"div", Dl = b"dl", Dt = b"dt", Em = b"em", Embed = b"embed", Fieldset = b"fieldset",
    Figcaption = b"figcaption", Figure = b"figure", Font = b"font", Footer = b"footer", Form = b"form", Frame = b"frame",
    Frameset = b"frameset", H1 = b"h1", H2 = b"h2", H3 = b"h3", H4 = b"h4", H5 = b"h5", H6 = b"h6", Head = b"head",
    Header = b"header", Hgroup = b"hgroup", Hr = b"hr", Html = b"html", I = b"i", Iframe = b"iframe", Image = b"image",
    Img = b"img", Input = b"input", Ins = b"ins", Kbd = b"kbd", Label = b"label", Legend = b"legend", Li = b"li",
    Link = b"link", Listing = b"listing", Main = b"main", Map = b"map", Mark = b"mark", Math = b"math", Menu = b"menu",
    Meta = b"meta", Nav = b"nav", Nobr = b"nobr", Noembed = b"noembed", Noframes = b"noframes", Noscript = b"noscript",
    Object = b"object", Ol = b"ol", Optgroup = b"optgroup", Option = b"option", Output = b"output", P = b"p",
    Param = b"param", Picture = b"picture", Plaintext = b"plaintext", Pre = b"pre", Q = b"q", Rb = b"rb", Rp = b"rp", Rt = b"rt",
    Ruby = b"ruby", S = b"s", Samp = b"samp", Script = b"script", Search = b"search", Section = b"section",
    Select = b"select", Small = b"small", Source = b"source", Span = b"span", Strike = b"strike", Strong = b"strong",
    Style = b"style", Sub = b"sub", Summary = b"summary", Sup = b"sup", Svg = b"svg", Table = b"table", Tbody = b"tbody",
    Td = b"td", Template = b"template", Textarea = b"textarea", Tfoot = b"tfoot", Th = b"th", Thead = b"thead",
    Time = b"time", Title = b"title", Tr = b"tr", Track = b"track", Tt = b"tt", U = b"u", Ul = b"ul", Var = b"var",
    Video = b"video", Wbr = b"wbr", Xmp = b"xmp",
}

use Tag::*;

impl Tag {
    /// Whether it has no content and no end tag.
    pub fn is_void(self) -> bool {
        matches!(
            self,
            Area | Base
                | Br
                | Col
                | Embed
                | Frame
                | Hr
                | Img
                | Input
                | Link
                | Meta
                | Param
                | Source
                | Track
                | Wbr
        )
    }

    /// Whether its start closes an open paragraph.
    pub fn closes_paragraph(self) -> bool {
        matches!(
            self,
            Address
                | Article
                | Aside
                | Blockquote
                | Center
                | Details
                | Dialog
                | Dir
                | Div
                | Dl
                | Dd
                | Dt
                | Fieldset
                | Figcaption
                | Figure
                | Footer
                | Form
                | H1
                | H2
                | H3
                | H4
                | H5
                | H6
                | Header
                | Hgroup
                | Hr
                | Li
                | Listing
                | Main
                | Menu
                | Nav
                | Ol
                | P
                | Plaintext
                | Pre
                | Search
                | Section
                | Summary
                | Table
                | Ul
                | Xmp
        )
    }

    /// Whether its text begins a new line, as browsers show it.
    pub fn is_block(self) -> bool {
        self.closes_paragraph()
            || matches!(
                self,
                Body | Html
                    | Td
                    | Th
                    | Tr
                    | Tbody
                    | Thead
                    | Tfoot
                    | Caption
                    | Legend
                    | Option
                    | Optgroup
                    | Select
                    | Noscript
                    | Button
                    | Iframe
                    | Video
                    | Audio
                    | Textarea
                    | Template
            )
    }

    /// Whether it is a heading from 1 to 6, and which.
    pub fn heading(self) -> std::option::Option<u8> {
        match self {
            H1 => Some(1),
            H2 => Some(2),
            H3 => Some(3),
            H4 => Some(4),
            H5 => Some(5),
            H6 => Some(6),
            _ => None,
        }
    }

    /// Whether it formats text, so that an end tag of it ends no block.
    pub(crate) fn is_formatting(self) -> bool {
        matches!(self, A | B | Big | Code | Em | Font | I | Nobr | S | Small | Strike | Strong | Tt | U)
    }

    /// Whether it is part of a line, and no formatting: its end tag closes no block.
    pub(crate) fn is_phrase(self) -> bool {
        matches!(
            self,
            Abbr | Canvas
                | Cite
                | Data
                | Del
                | Ins
                | Kbd
                | Label
                | Map
                | Mark
                | Other
                | Output
                | Picture
                | Q
                | Rb
                | Rp
                | Rt
                | Ruby
                | Samp
                | Span
                | Sub
                | Sup
                | Time
                | Var
        )
    }

    /// Whether what is in it is text, whatever it looks like.
    pub(crate) fn is_raw(self) -> bool {
        matches!(self, Script | Style | Title | Textarea | Xmp | Iframe | Noembed | Noframes | Plaintext)
    }

    /// Whether it is in the head, where there is one.
    pub(crate) fn is_of_head(self) -> bool {
        matches!(self, Base | Link | Meta | Noscript | Script | Style | Template | Title)
    }

    /// Whether it is the structure of a table, in which text and other elements may not be.
    pub(crate) fn is_table_part(self) -> bool {
        matches!(self, Table | Tbody | Thead | Tfoot | Tr)
    }

    /// Whether it has no meaning but in a table.
    pub(crate) fn needs_table(self) -> bool {
        matches!(self, Td | Th | Tr | Tbody | Thead | Tfoot | Caption | Col | Colgroup)
    }

    /// Whether it ends foreign content (SVG, MathML) that is open.
    pub(crate) fn breaks_out(self) -> bool {
        matches!(
            self,
            B | Big
                | Blockquote
                | Body
                | Br
                | Center
                | Code
                | Dd
                | Div
                | Dl
                | Dt
                | Em
                | Embed
                | H1
                | H2
                | H3
                | H4
                | H5
                | H6
                | Head
                | Hr
                | I
                | Img
                | Li
                | Listing
                | Menu
                | Meta
                | Nobr
                | Ol
                | P
                | Pre
                | Ruby
                | S
                | Small
                | Span
                | Strong
                | Strike
                | Sub
                | Sup
                | Table
                | Tt
                | U
                | Ul
                | Var
        )
    }
}
