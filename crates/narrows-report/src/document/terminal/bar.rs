//! Bars of characters.

use crate::text::Style;

/// A bar of at most `columns` for a part of a full one, in eighths of a column where the reader can show them. It never
/// vanishes.
pub(super) fn bar(style: &Style, part: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let length = part.clamp(0.0, 1.0) * columns as f64;
    if !style.unicode {
        return "#".repeat(length.round().max(1.0) as usize);
    }
    let eighths = (length * 8.0).round().max(1.0) as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS.get(eighths % 8).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false };

    #[test]
    fn bars_grow_and_never_vanish() {
        let ascii = Style { unicode: false, ..WIDE };
        let lengths = [0.0, 0.3, 0.6, 1.0].map(|part| bar(&ascii, part, 24).len());
        assert_eq!(lengths, [1, 7, 14, 24]);
        assert_eq!(bar(&WIDE, 1.0, 24).chars().count(), 24);
        assert_eq!(bar(&WIDE, 0.5, 9), "████▌");
        assert_eq!(bar(&WIDE, f64::NAN, 9), "▏");
    }
}
