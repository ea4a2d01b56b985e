//! How figures look: one table of colours, of which a style for light and one for dark paper are made.

use super::svg::Svg;
use super::width::FACES;

/// The most pictures of a figure that can be shown in turn.
pub(in crate::figure) const MOST: usize = 9;

/// What has which colour: selector, property, on light paper, on dark paper. Hues keep apart for those who see no red or green (the
/// vermilion, blue and orange of Okabe and Ito, Color Universal Design, 2008), and differ in lightness, too; text has a contrast
/// of at least 4.5 to its paper (WCAG 2.2, 1.4.3).
const COLOURS: &[(&str, &str, &str, &str)] = &[
    (".paper", "fill", "#ffffff", "#0f1318"),
    (".picture text", "fill", "#1b1f24", "#e8ecf1"),
    (".picture .soft", "fill", "#59636e", "#9aa5b1"),
    (".picture text.fault", "fill", "#b3261e", "#ff9c85"),
    (".picture text.narrowest", "fill", "#0a5cad", "#7cc0ff"),
    (".picture text.next", "fill", "#7d5200", "#f0bd5c"),
    (".picture text.todo", "fill", "#0a5cad", "#7cc0ff"),
    (".grid", "stroke", "#dfe4ea", "#262e38"),
    (".axis", "stroke", "#59636e", "#9aa5b1"),
    (".flow", "fill", "#eaeff5", "#1b242e"),
    (".box", "fill", "#f6f8fa", "#171d24"),
    (".box", "stroke", "#c3ccd6", "#3a4552"),
    (".lane", "fill", "#c3d2e3", "#3a4f66"),
    (".lane", "stroke", "#8497ad", "#6d8299"),
    (".lane.unknown", "fill", "#ffffff", "#0f1318"),
    (".lane.unknown", "stroke", "#6b7785", "#8d99a6"),
    (".lane.fault, .pinch.fault", "fill", "#d5401f", "#f2704f"),
    (".lane.fault, .pinch.fault, .rail.fault", "stroke", "#9c2410", "#ffae98"),
    (".lane.narrowest, .pinch.narrowest", "fill", "#2f7fd1", "#4a97e6"),
    (".lane.narrowest, .pinch.narrowest, .rail.narrowest", "stroke", "#0b4f94", "#a6d2ff"),
    (".lane.next", "fill", "#f0c67a", "#8a6420"),
    (".lane.next, .pinch.next, .rail.next", "stroke", "#8a5d00", "#f0bd5c"),
    (".pinch.next", "fill", "#ffffff", "#0f1318"),
    (".band", "fill", "#14375f", "#d2e7ff"),
    (".atmost", "stroke", "#14375f", "#d2e7ff"),
    (".interval, .whisker", "stroke", "#1b1f24", "#e8ecf1"),
    (".break", "stroke", "#1b1f24", "#e8ecf1"),
    (".torn", "stroke", "#ffffff", "#0f1318"),
    (".fill.plain", "fill", "#a9bdd3", "#4b6480"),
    (".fill.good", "fill", "#2f7fd1", "#4a97e6"),
    (".fill.bad", "fill", "#d5401f", "#f2704f"),
    (".lost", "stroke", "#6b7785", "#8d99a6"),
    (".roof", "stroke", "#1b1f24", "#e8ecf1"),
    (".event", "stroke", "#59636e", "#9aa5b1"),
    (".curve.k0", "stroke", "#0b6bcb", "#5fb1ff"),
    (".curve.k1", "stroke", "#c7401c", "#ff8a68"),
    (".curve.k2", "stroke", "#8a5d00", "#e9b44c"),
    (".curve.k3", "stroke", "#00795f", "#3fc9a4"),
    (".curve.k4", "stroke", "#8e3f7d", "#e39ad2"),
    (".curve.k5", "stroke", "#4d5966", "#aab5c0"),
    (".sign.k0", "fill", "#0b6bcb", "#5fb1ff"),
    (".sign.k1", "fill", "#c7401c", "#ff8a68"),
    (".sign.k2", "fill", "#8a5d00", "#e9b44c"),
    (".sign.k3", "fill", "#00795f", "#3fc9a4"),
    (".sign.k4", "fill", "#8e3f7d", "#e39ad2"),
    (".sign.k5", "fill", "#4d5966", "#aab5c0"),
    (".sign", "stroke", "#ffffff", "#0f1318"),
    (".heat.none", "fill", "#f1f4f7", "#171d24"),
    (".framed", "stroke", "#1b1f24", "#e8ecf1"),
    (".rail", "stroke", "#c3ccd6", "#3a4552"),
];

/// Cells of heat maps and the text in them, from little to much: the same on every paper, each with a contrast of 4.5 to its text.
const SHADES: [(&str, [&str; 6]); 2] = [
    ("cool", ["#e3eefa", "#c3daf0", "#9cc6e6", "#6aacd8", "#2a6fb0", "#0a4a8f"]),
    ("warm", ["#fdeee3", "#fbd6b9", "#f6b585", "#ec8f52", "#b9451a", "#8a2a0a"]),
];

/// What does not depend on the paper.
const SHAPES: &str = "\
.picture { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif }
.grid, .axis, .atmost, .interval, .break, .torn, .whisker, .rail { fill: none }
.torn { stroke-width: 2.5 }
.grid, .axis, .lane, .box, .pinch { stroke-width: 1 }
.lane.unknown { stroke-dasharray: 5 3 }
.interval, .break, .whisker { stroke-width: 1.6 }
.rail { stroke-width: 3 }
.pinch { stroke-width: 1.4; stroke-linejoin: round }
.curve { fill: none; stroke-width: 2.2; stroke-linejoin: round }
.curve.bound { stroke-width: 1.6; stroke-dasharray: 7 4 }
.curve.again { stroke-dasharray: 2 3 }
.sign { stroke-width: 1 }
.lost, .framed { fill: none; stroke-width: 1.2 }
.lost { stroke-dasharray: 4 3 }
.roof { fill: none; stroke-width: 2.4 }
.event { fill: none; stroke-width: 1.2; stroke-dasharray: 3 3 }
.on-none { font-weight: 400 }
.band.doubted { fill-opacity: 0.45 }
.band.range { fill-opacity: 0.35 }
.atmost { stroke-width: 1.6; stroke-dasharray: 6 4 }
";

/// Where figures stand on a page.
const PLACES: &str = "\
.picture { max-width: 100%; height: auto; display: block }
.figure { margin: 24px 0; break-inside: avoid }
.narrow-only { display: none }
@media (max-width: 599px) { .wide-only { display: none } .narrow-only { display: block } }
.shown { display: none }
.shown-name { display: none; font-weight: 600 }
.choice { border: 0; padding: 0; margin: 0 0 8px; min-width: 0 }
.choice label { display: block; overflow-wrap: anywhere }
.scroll { overflow-x: auto }
@media print { .shown { display: block } .shown-name { display: block } .choice { display: none } .shown + .shown { break-before: auto } }
";

/// The style of a drawing that stands alone.
fn drawing() -> String {
    let mut out = String::from(SHAPES);
    for face in FACES {
        let weight = if face.is_bold { 600 } else { 400 };
        out.push_str(&format!(".{} {{ font-size: {}px; font-weight: {weight} }}\n", face.class, face.size));
    }
    let colour = |selector, property, colour| format!("{selector} {{ {property}: {colour} }}\n");
    out.extend(COLOURS.iter().map(|(selector, property, light, _)| colour(selector, property, light)));
    for (tone, shades) in SHADES {
        for (at, shade) in shades.iter().enumerate() {
            let ink = if at < 4 { "#1b1f24" } else { "#ffffff" };
            out.push_str(&format!(
                ".{tone}{at} {{ fill: {shade} }}\n.picture .on-{tone}{at} {{ fill: {ink} }}\n"
            ));
        }
    }
    out.push_str("@media screen and (prefers-color-scheme: dark) {\n");
    out.extend(COLOURS.iter().map(|(selector, property, _, dark)| colour(selector, property, dark)));
    out.push_str("}\n");
    out
}

/// The style of every figure: a part of that of a page.
pub fn style() -> String {
    let mut out = drawing();
    out.push_str(PLACES);
    for at in 0..MOST {
        out.push_str(&format!(".figure:has(.show-{at}:checked) .shown-{at} {{ display: block }}\n"));
    }
    out
}

/// A drawing as a file of its own, with its colours and its paper.
pub fn standalone(svg: &Svg) -> String {
    let paper = "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
    let inside = format!("<style>\n{}</style>\n{paper}", drawing());
    svg.written(" xmlns=\"http://www.w3.org/2000/svg\"", &inside)
}
