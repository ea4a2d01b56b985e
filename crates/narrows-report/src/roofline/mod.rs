//! The storage roofline as a picture: in the terminal, and as SVG.

mod scale;
mod svg;
mod text;

pub use svg::svg;
pub use text::text;

use narrows_base::units::{Bytes, human};
use narrows_model::predict::BoundKind;
use narrows_model::predict::roofline::{Axis, Line, Roofline};

/// What a place on the axis is called.
fn tick(axis: Axis, at: f64) -> String {
    match axis {
        Axis::BlockSize => human::block_size(Bytes::new(at as u64)),
        Axis::Depth => format!("{at:.0}"),
    }
}

/// What runs along the axis.
const fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::BlockSize => "block size",
        Axis::Depth => "I/Os under way for each job",
    }
}

/// What a line is called: the hop, how many there are of it, and what of it bounds.
pub(crate) fn label(line: &Line) -> String {
    let many = if line.alike > 1 { format!("{} × ", line.alike) } else { String::new() };
    let what = match line.kind {
        BoundKind::Iops => " (I/Os)",
        _ => "",
    };
    format!("{many}{}{what}", line.name)
}

/// Why there is no picture.
fn is_empty(roofline: &Roofline) -> bool {
    roofline.at.len() < 2 || roofline.rates.iter().all(|rate| rate.get() <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;
    use narrows_model::path::file::parse;
    use narrows_model::predict::roofline::roofline;

    const SYSTEM: &str = include_str!("../../../../systems/ryzen-raid-luks.path.toml");

    fn pictures() -> Vec<Roofline> {
        let system = parse("ryzen-raid-luks", SYSTEM).expect("is a system");
        let first = &system.workloads[0];
        [Axis::BlockSize, Axis::Depth]
            .into_iter()
            .map(|axis| roofline(&system, first, axis, &system.workloads).expect("is a path"))
            .collect()
    }

    #[test]
    fn the_picture_in_characters() {
        let style = Style { colour: false, width: 100, unicode: true, plain: false };
        let drawn: Vec<String> = pictures().iter().map(|picture| super::text(picture, &style)).collect();
        insta::assert_snapshot!("terminal", drawn.join("\n"));
        for width in [60, 78, 140] {
            for unicode in [true, false] {
                let style = Style { width, unicode, ..style };
                for picture in pictures() {
                    let text = super::text(&picture, &style);
                    assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
                    assert!(unicode || text.is_ascii(), "{text}");
                }
            }
        }
    }

    #[test]
    fn the_svg_stands_alone_and_is_well_formed() {
        let mut pictures = pictures();
        pictures[0].marks[0].name = "<script>alert(\"&\")</script>".to_owned();
        let svg = super::svg(&pictures);
        assert!(
            !svg.contains("<script")
                && !svg.contains("http://www.w3.org/1999/xlink")
                && !svg.contains("href")
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let mut reader = quick_xml::Reader::from_str(&svg);
        while reader.read_event().expect("is XML") != quick_xml::events::Event::Eof {}
    }
}
