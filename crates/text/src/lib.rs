//! A page's text: [`blocks`] divides a page, [`features`] describes each block, [`model`] and [`context`] decide which are its main text.

pub mod blocks;
pub mod context;
pub mod features;
pub mod figures;
pub mod markdown;
pub mod model;
pub mod refusal;
pub mod stated;
