//! How wide a text is before a browser has drawn it: the advance widths of DejaVu Sans, the widest of the sans-serif fonts in
//! common use, so that what is laid out by them has room in any other.

use crate::sanitize::inert;

/// Advance widths of the characters from space to `~`, in thousandths of the font's size (the font's `hmtx` table, version 2.37).
const PLAIN: [u16; 95] = [
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337, 637, 637, 637, 637, 637,
    637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531, 1000, 685, 687, 699, 771, 632, 576, 775, 752, 295,
    295, 656, 558, 863, 749, 788, 604, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838,
    500, 500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612, 635, 635, 412, 521,
    393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
];

/// The same of DejaVu Sans Bold.
const BOLD: [u16; 95] = [
    349, 457, 521, 838, 696, 1002, 873, 307, 458, 458, 523, 838, 380, 416, 380, 366, 696, 696, 696, 696, 696,
    696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 581, 1000, 774, 763, 734, 831, 684, 684, 821, 837, 373,
    373, 775, 638, 996, 837, 851, 733, 851, 771, 721, 683, 813, 774, 1104, 771, 725, 726, 458, 366, 458, 838,
    500, 500, 675, 716, 593, 716, 679, 436, 716, 712, 343, 343, 666, 343, 1042, 712, 688, 716, 716, 494, 596,
    479, 712, 652, 924, 646, 652, 583, 712, 366, 712, 838,
];

/// The size of a text and how heavy it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Face {
    /// Its class in the style.
    pub class: &'static str,
    /// The font's size in pixels.
    pub size: f64,
    /// Whether it is set in bold.
    pub is_bold: bool,
}

/// What the style calls its sizes of text. The style is made of the same values.
pub(super) const FACES: [Face; 6] = [TITLE, STRONG, PLAIN_TEXT, SMALL, SMALL_STRONG, LEAD];
/// The title of a picture.
pub(super) const TITLE: Face = Face { class: "t-title", size: 17.0, is_bold: true };
/// A number, or a name that leads.
pub(super) const STRONG: Face = Face { class: "t-strong", size: 14.0, is_bold: true };
pub(super) const PLAIN_TEXT: Face = Face { class: "t-text", size: 14.0, is_bold: false };
/// What stands beside.
pub(super) const SMALL: Face = Face { class: "t-small", size: 12.0, is_bold: false };
/// The same, of weight.
pub(super) const SMALL_STRONG: Face = Face { class: "t-small-strong", size: 12.0, is_bold: true };
/// What a picture shows, in a sentence.
pub(super) const LEAD: Face = Face { class: "t-lead", size: 20.0, is_bold: false };

impl Face {
    /// The width of a text in pixels: at most this in any common font.
    pub fn width(self, text: &str) -> f64 {
        text.chars().map(|c| self.advance(c)).sum::<f64>() * self.size / 1000.0
    }

    /// The width of a character, in thousandths of the font's size.
    fn advance(self, c: char) -> f64 {
        let table = if self.is_bold { &BOLD } else { &PLAIN };
        let place = (c as usize).checked_sub(0x20);
        place.and_then(|place| table.get(place)).map_or(1000.0, |width| f64::from(*width))
    }

    /// The text if it fits, else its beginning with a mark.
    pub fn fit(self, text: &str, room: f64) -> String {
        // What is written is the inert text, which may be longer.
        let text = inert(text);
        if self.width(&text) <= room {
            return text;
        }
        let fits = |used: &mut f64, c: char| {
            *used += self.advance(c);
            (*used * self.size / 1000.0 <= room).then_some(c)
        };
        let kept: String = text.chars().scan(self.advance('…'), fits).collect();
        format!("{}…", kept.trim_end_matches([' ', ',', ';']))
    }

    /// The text in at most `most` lines, broken between words, and in a word that is longer than a line; the last is cut off
    /// where it does not suffice.
    pub fn wrap(self, text: &str, room: f64, most: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let text = inert(text);
        let mut rest = text.trim();
        while !rest.is_empty() && lines.len() < most.max(1) {
            if lines.len() + 1 == most.max(1) {
                lines.push(self.fit(rest, room));
                break;
            }
            let at = self.break_at(rest, room);
            let (line, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            lines.push(line.trim_end().to_owned());
            rest = after.trim_start();
        }
        lines
    }

    /// Where the first line of a text ends: after at least one character.
    fn break_at(self, text: &str, room: f64) -> usize {
        let mut width = 0.0;
        let mut last_gap = None;
        for (at, c) in text.char_indices() {
            if c == ' ' {
                last_gap = Some(at);
            }
            width += self.advance(c) * self.size / 1000.0;
            if width > room && c != ' ' {
                return last_gap.filter(|gap| *gap > 0).unwrap_or(if at == 0 { c.len_utf8() } else { at });
            }
        }
        text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_stay_whole_where_they_can() {
        let lines = SMALL.wrap("Samsung SSD 970 EVO Plus 1TB", 100.0, 3);
        assert_eq!(lines, ["Samsung SSD", "970 EVO Plus", "1TB"]);
        assert_eq!(SMALL.wrap("one two three four five", 60.0, 2).len(), 2);
        assert!(SMALL.wrap("one two three four five", 60.0, 2)[1].ends_with('…'));
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_its_room(text: String, room in 20.0_f64..300.0, most in 1_usize..5) {
            for face in FACES.iter().filter(|face| face.size < room / 2.0) {
                let lines = face.wrap(&text, room, most);
                prop_assert!(lines.len() <= most);
                prop_assert!(lines.iter().all(|line| face.width(line) <= room + 1e-6), "{lines:?}");
            }
        }
    }
}
