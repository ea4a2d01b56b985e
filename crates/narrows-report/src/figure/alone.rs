//! A drawing as a file of its own.

use super::style::drawing;
use super::svg::Svg;

/// A drawing as a file of its own, with its colours and its paper.
pub fn standalone(svg: &Svg) -> String {
    let paper = "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
    let inside = format!("<style>\n{}</style>\n{paper}", drawing());
    svg.written(" xmlns=\"http://www.w3.org/2000/svg\"", &inside)
}
