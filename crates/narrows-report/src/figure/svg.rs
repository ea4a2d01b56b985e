//! A drawing as SVG, element by element.

use std::fmt::Write;

use crate::sanitize::markup;

/// A drawing: elements with classes, in its own coordinates.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Svg {
    width: f64,
    height: f64,
    label: String,
    /// Elements, as they are written.
    body: String,
    /// Words, which may be names of others, each with its place in the body: made inert where they are written.
    said: Vec<(usize, String)>,
    open: Vec<&'static str>,
}

/// Where a text begins, ends or has its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// It begins at the point.
    Start,
    /// The point is its middle.
    Middle,
    /// It ends at the point.
    End,
}

impl Svg {
    /// An empty drawing; `label` is its name for those who do not see it.
    pub fn new(width: f64, label: &str) -> Self {
        Self { width, label: label.to_owned(), ..Self::default() }
    }

    /// Its width in pixels where it is not scaled.
    pub const fn width(&self) -> f64 {
        self.width
    }

    /// Makes it at least so high.
    pub const fn reach(&mut self, height: f64) {
        self.height = self.height.max(height);
    }

    /// Words between elements or in an attribute.
    fn say(&mut self, text: &str) {
        self.said.push((self.body.len(), text.to_owned()));
    }

    /// All words of it, to be changed.
    pub fn words_mut(&mut self) -> impl Iterator<Item = &mut String> {
        std::iter::once(&mut self.label).chain(self.said.iter_mut().map(|(_, text)| text))
    }

    /// Begins a group; `data` become `data-` attributes, `title` what is shown where the pointer rests.
    pub fn group(&mut self, class: &str, data: &[(&str, String)], title: &str) {
        let _ = write!(self.body, "<g class=\"{}\"", markup(class));
        for (name, value) in data {
            let _ = write!(self.body, " data-{name}=\"");
            // A row of numbers is no name, whatever its digits look like.
            match value.chars().all(|c| c.is_ascii_digit() || ".= p".contains(c)) {
                true => self.body.push_str(value),
                false => self.say(value),
            }
            self.body.push('"');
        }
        self.body.push('>');
        if !title.is_empty() {
            self.body.push_str("<title>");
            self.say(title);
            self.body.push_str("</title>");
        }
        self.body.push('\n');
        self.open.push("g");
    }

    /// Ends the group that was begun last.
    pub fn end(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = writeln!(self.body, "</{name}>");
        }
    }

    /// Begins an element with attributes that are numbers.
    fn begin(&mut self, name: &str, class: &str, numbers: &[(&str, f64)]) {
        let _ = write!(self.body, "<{name} class=\"{}\"", markup(class));
        for (key, value) in numbers {
            let _ = write!(self.body, " {key}=\"{}\"", number(*value));
        }
    }

    /// A rectangle with round corners.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), round: f64) {
        let numbers =
            [("x", x), ("y", y), ("width", width.max(0.0)), ("height", height.max(0.0)), ("rx", round)];
        self.begin("rect", class, if round > 0.0 { &numbers } else { &numbers[..4] });
        self.body.push_str("/>\n");
        self.reach(y + height);
    }

    /// Lines and curves; `d` is made by `Stroke`.
    pub fn path(&mut self, class: &str, d: &Stroke) {
        let _ = writeln!(self.body, "<path class=\"{}\" d=\"{}\"/>", markup(class), d.0);
    }

    pub fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        self.begin("circle", class, &[("cx", x), ("cy", y), ("r", radius)]);
        self.body.push_str("/>\n");
        self.reach(y + radius);
    }

    /// A line of text on a base line.
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.begin("text", class, &[("x", x), ("y", y)]);
        let _ = write!(self.body, "{anchor}>");
        self.say(text);
        self.body.push_str("</text>\n");
        self.reach(y + 4.0);
    }

    /// The whole element, for a page.
    pub fn element(&self) -> String {
        self.written("", "")
    }

    pub fn written(&self, namespace: &str, inside: &str) -> String {
        let (width, height) = (number(self.width), number(self.height.ceil()));
        let mut out = format!(
            "<svg{namespace} class=\"picture\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{}\">\n{inside}",
            markup(&self.label)
        );
        let mut done = 0;
        for (place, text) in &self.said {
            out.push_str(self.body.get(done..*place).unwrap_or_default());
            out.push_str(&markup(text));
            done = *place;
        }
        out.push_str(self.body.get(done..).unwrap_or_default());
        for name in self.open.iter().rev() {
            let _ = writeln!(out, "</{name}>");
        }
        out.push_str("</svg>\n");
        out
    }
}

/// A number with at most two decimals and no more than it needs, the same everywhere; 0 for what is no number.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// What a pen does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stroke(String);

impl Stroke {
    /// From here on.
    pub fn from(x: f64, y: f64) -> Self {
        Self::default().go('M', &[x, y])
    }

    /// A straight line to there.
    pub fn to(self, x: f64, y: f64) -> Self {
        self.go('L', &[x, y])
    }

    /// Begins anew there.
    pub fn jump(self, x: f64, y: f64) -> Self {
        self.go('M', &[x, y])
    }

    /// A curve that leaves and arrives level.
    pub fn bend(self, (from_x, from_y): (f64, f64), (x, y): (f64, f64)) -> Self {
        let middle = f64::midpoint(from_x, x);
        self.go('C', &[middle, from_y, middle, y, x, y])
    }

    /// A rectangle.
    pub fn block(mut self, (x, y): (f64, f64), (width, height): (f64, f64)) -> Self {
        let [x, y, width, height] = [x, y, width, height].map(number);
        self.0.push_str(&format!("M{x} {y}h{width}v{height}h-{width}Z"));
        self
    }

    /// Back to where it began.
    pub fn close(mut self) -> Self {
        self.0.push('Z');
        self
    }

    fn go(mut self, letter: char, values: &[f64]) -> Self {
        self.0.push(letter);
        self.0.push_str(&values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(" "));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_what_svg_does_not_know() {
        let shown = [1.0, 1.5, 0.333_33, -0.001, 1e6, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(shown, ["1", "1.5", "0.33", "0", "1000000", "0", "0"]);
    }

    #[test]
    fn names_of_others_are_text_in_every_place() {
        let hostile = "</text><script>x</script>\" onload='y'\u{202e}";
        let mut svg = Svg::new(100.0, hostile);
        svg.group(hostile, &[("hop", hostile.to_owned())], hostile);
        svg.text("name", (1.0, 2.0), Anchor::End, hostile);
        let whole = svg.element();
        assert!(
            !whole.contains("<script") && !whole.contains(" onload='") && !whole.contains('\u{202e}'),
            "{whole}"
        );
        let mut reader = quick_xml::Reader::from_str(&whole);
        let mut depth = 0;
        loop {
            match reader.read_event().expect("is XML") {
                quick_xml::events::Event::Start(_) => depth += 1,
                quick_xml::events::Event::End(_) => depth -= 1,
                quick_xml::events::Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0);
    }
}
