//! Tables of GFM. A cell that spans several columns or rows is in the first of them, and the others are empty.

use lycosa_dom::{NONE, NodeId, Tag, Tree};

use super::Options;
use super::inline::Inline;
use super::kept::Kept;

/// Columns of a table, and places for cells, at most; larger ones are written as blocks.
const COLUMNS: usize = 100;
const PLACES: usize = 50_000;

/// Places for each cell, at most, so that empty ones are no more than the page.
const PLACES_PER_CELL: usize = 8;

/// Rows that a cell may span (section 4.9.11 of the HTML Standard).
const SPAN: usize = 65_534;

/// The cells of a table in their order, without those of tables in it.
pub(crate) fn cells(tree: &Tree, table: NodeId) -> Vec<NodeId> {
    rows(tree, table).into_iter().flat_map(|(_, cells)| cells).collect()
}

/// The rows of a table: whether each is in its head, and its cells.
fn rows(tree: &Tree, table: NodeId) -> Vec<(bool, Vec<NodeId>)> {
    let mut rows = Vec::new();
    let mut row = |node: NodeId, is_head: bool| {
        let cells = tree.children(node).filter(|cell| matches!(tree.tag(*cell), Tag::Td | Tag::Th));
        rows.push((is_head, cells.collect()));
    };
    for part in tree.children(table) {
        match tree.tag(part) {
            Tag::Tr => row(part, false),
            tag @ (Tag::Thead | Tag::Tbody | Tag::Tfoot) => {
                let inner = tree.children(part).filter(|child| tree.tag(*child) == Tag::Tr);
                inner.for_each(|child| row(child, tag == Tag::Thead));
            }
            _ => {}
        }
    }
    rows
}

/// A table of text as Markdown; `None`: it is there for the layout, or is no table.
pub(crate) fn grid(tree: &Tree, kept: &Kept, options: Options, table: NodeId) -> Option<String> {
    let rows = rows(tree, table);
    let all: Vec<_> = rows.iter().flat_map(|(_, cells)| cells.iter().copied()).collect();
    let is_layout = matches!(tree.attribute(table, "role"), Some("presentation" | "none"))
        || all.iter().any(|cell| has_layout(tree, *cell));
    if is_layout || all.len() > PLACES || rows.iter().filter(|(_, cells)| cells.len() > 1).count() < 1 {
        return None;
    }
    let (mut grid, mut places) = (Vec::<Vec<Option<String>>>::new(), 0usize);
    for (number, (_, cells)) in rows.iter().enumerate() {
        let mut column = 0;
        for cell in cells {
            while has(&grid, number, column) {
                column += 1;
            }
            // What is beyond would be lost.
            if column >= COLUMNS {
                return None;
            }
            let span = |name: &str, most: usize| {
                let given = tree.attribute(*cell, name).and_then(|span| span.trim().parse::<usize>().ok());
                given.unwrap_or(1).clamp(1, most)
            };
            let columns = span("colspan", COLUMNS).min(COLUMNS - column);
            let down = span("rowspan", SPAN).min(rows.len() - number);
            // A few cells may span more places than the page has bytes.
            places = places.saturating_add(columns * down);
            if places > PLACES {
                return None;
            }
            let text = if kept.has(*cell) {
                Inline::of(tree, kept, options, *cell).one_line()
            } else {
                String::new()
            };
            for below in 0..down {
                for right in 0..columns {
                    let is_first = below + right == 0;
                    put(
                        &mut grid,
                        number + below,
                        column + right,
                        if is_first { text.replace('|', "\\|") } else { String::new() },
                    );
                }
            }
            column += columns;
        }
    }
    let width = grid.iter().map(Vec::len).max()?;
    grid.retain(|row| row.iter().flatten().any(|cell| !cell.is_empty()));
    if width < 2 || grid.is_empty() || grid.len() * width > PLACES_PER_CELL * (all.len() + 1) {
        return None;
    }
    let line = |row: &[Option<String>]| {
        let cells =
            (0..width).map(|column| row.get(column).and_then(|cell| cell.as_deref()).unwrap_or_default());
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut lines = vec![line(&grid[0]), format!("|{}", " --- |".repeat(width))];
    lines.extend(grid[1..].iter().map(|row| line(row)));
    Some(lines.join("\n"))
}

/// Whether a cell is there for the layout: it has a table, a heading, or several paragraphs.
fn has_layout(tree: &Tree, cell: NodeId) -> bool {
    let end = tree.after(cell);
    let (mut at, mut paragraphs) = (tree.first(cell), 0);
    while at != NONE && at != end {
        match tree.tag(at) {
            Tag::Table | Tag::Form | Tag::Article | Tag::Nav | Tag::Pre => return true,
            tag if tag.heading().is_some() => return true,
            Tag::P => paragraphs += 1,
            _ => {}
        }
        at = tree.following(at);
    }
    paragraphs > 3
}

/// Whether a cell is taken, by one that spans it.
fn has(grid: &[Vec<Option<String>>], row: usize, column: usize) -> bool {
    grid.get(row).and_then(|cells| cells.get(column)).is_some_and(Option::is_some)
}

/// Puts a text into a cell.
fn put(grid: &mut Vec<Vec<Option<String>>>, row: usize, column: usize, text: String) {
    if grid.len() <= row {
        grid.resize_with(row + 1, Vec::new);
    }
    if grid[row].len() <= column {
        grid[row].resize_with(column + 1, || None);
    }
    grid[row][column] = Some(text);
}
