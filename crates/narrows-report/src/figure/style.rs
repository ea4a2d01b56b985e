//! How figures look: one table of colours, of which a style for light and one for dark paper are made.

use super::html::MOST;

/// What has which colour: selector, property, on light paper, on dark paper. Chosen apart in lightness as well as in hue
/// (Okabe and Ito's blue, orange and vermilion, darkened or lightened until text has a contrast of 4.5 to its paper).
const COLOURS: &[(&str, &str, &str, &str)] = &[
    (".paper", "fill", "#ffffff", "#0f1318"),
    (".picture text", "fill", "#1b1f24", "#e8ecf1"),
    (".picture .soft", "fill", "#59636e", "#9aa5b1"),
    (".picture .alarm", "fill", "#b3261e", "#ff8f86"),
    (".picture .link", "fill", "#0a5cad", "#6db6ff"),
    (".grid", "stroke", "#dfe4ea", "#262e38"),
    (".axis", "stroke", "#59636e", "#9aa5b1"),
];

/// What does not depend on the paper.
const SHAPES: &str = "\
.picture { max-width: 100%; height: auto; display: block; font: 14px system-ui, 'Segoe UI', 'Liberation Sans', Arial, sans-serif }
.grid { stroke-width: 1; fill: none } .axis { stroke-width: 1; fill: none }
.strong { font-weight: 600 }
";

/// Where figures stand on a page.
const PLACES: &str = "\
.figure { margin: 24px 0; break-inside: avoid }
.narrow-only { display: none }
@media (max-width: 599px) { .wide-only { display: none } .narrow-only { display: block } }
.shown { display: none } .shown-name { display: none }
.choice { border: 0; padding: 0; margin: 0 0 8px } .choice label { display: block }
@media print { .shown { display: block } .shown-name { display: block } .choice { display: none } }
";

/// The style of every figure: `style` of a drawing that stands alone, and a part of that of a page.
pub fn style() -> String {
    let mut out = String::from(SHAPES);
    let rule = |(selector, property, light, dark): &(&str, &str, &str, &str), is_dark: bool| {
        format!("{selector} {{ {property}: {} }}\n", if is_dark { dark } else { light })
    };
    COLOURS.iter().for_each(|colour| out.push_str(&rule(colour, false)));
    out.push_str("@media screen and (prefers-color-scheme: dark) {\n");
    COLOURS.iter().for_each(|colour| out.push_str(&rule(colour, true)));
    out.push_str("}\n");
    out.push_str(PLACES);
    for at in 0..MOST {
        out.push_str(&format!(".figure:has(.show-{at}:checked) .shown-{at} {{ display: block }}\n"));
    }
    out
}
