//! Figures: pictures as SVG, each with its words and its table, for pages and documents.
//!
//! A [`Figure`] is what a document shows. Its pictures hold no script, no address, no `style=` attribute and no colour: classes
//! only, which [`style`] gives their colours, on light and on dark. Whatever devices and people call themselves is text in
//! them and nothing else. The same input gives the same bytes.

pub mod chart;
pub mod path_map;
mod style;
pub mod svg;
mod whole;
mod width;

pub use path_map::{machine_map, path_map};
pub use style::{standalone, style};
pub use svg::Svg;
pub use whole::{Data, Figure, Picture};
