//! A page's text.

pub mod blocks;
