//! Rates by position as a picture of characters.

use crate::text::Style;
use narrows_base::units::{Bytes, BytesPerSec, human};

/// Rows of the picture.
const ROWS: usize = 8;
/// Columns for the scale at its left.
const MARGIN: usize = 12;

/// The rates of samples at growing offsets, position from left to right, rate from 0 at the bottom to the fastest sample at the top. No
/// line is wider than the style allows; nothing for less than two samples.
pub(super) fn by_position(samples: &[(Bytes, BytesPerSec)], style: &Style) -> Vec<String> {
    let columns = style.width.saturating_sub(MARGIN).min(samples.len()).min(100);
    let most = samples.iter().fold(0.0_f64, |most, (_, rate)| most.max(rate.get()));
    if columns < 2 || most <= 0.0 {
        return Vec::new();
    }
    let most = BytesPerSec::new(most);
    let means = columns_of(samples, columns);
    let mut lines: Vec<String> = (0..ROWS)
        .rev()
        .map(|row| {
            let scale = match row {
                0 => human::rate(most * 0.0),
                r if r + 1 == ROWS => human::rate(most),
                r if r == ROWS / 2 => human::rate(most / 2.0),
                _ => String::new(),
            };
            let bars: String = means.iter().map(|mean| cell(mean / most.get(), row, style.unicode)).collect();
            format!("{scale:>10}  {}", bars.trim_end())
        })
        .collect();
    let end = samples.last().map_or_else(String::new, |(offset, _)| human::bytes(*offset));
    let room = columns.saturating_sub(1);
    lines.push(format!("{:>10}  0{end:>room$}", "position"));
    lines
}

/// The mean rate of each column's samples.
fn columns_of(samples: &[(Bytes, BytesPerSec)], columns: usize) -> Vec<f64> {
    let count = samples.len();
    (0..columns)
        .map(|column| {
            let (from, to) = (column * count / columns, (column + 1) * count / columns);
            let part = samples.get(from..to).unwrap_or_default();
            part.iter().map(|(_, rate)| rate.get()).sum::<f64>() / part.len().max(1) as f64
        })
        .collect()
}

/// What a column shows in a row, `share` of the whole height being filled.
fn cell(share: f64, row: usize, unicode: bool) -> char {
    const PARTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let filled = (share.clamp(0.0, 1.0) * ROWS as f64 - row as f64).clamp(0.0, 1.0);
    if unicode {
        PARTS.get((filled * 8.0).round() as usize).copied().unwrap_or(' ')
    } else if filled >= 0.5 {
        '#'
    } else {
        ' '
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rates: &[f64]) -> Vec<(Bytes, BytesPerSec)> {
        let sample =
            |(at, mb): (usize, &f64)| (Bytes::new(at as u64 * 1_000_000_000), BytesPerSec::from_mb(*mb));
        rates.iter().enumerate().map(sample).collect()
    }

    const ASCII: Style = Style { colour: false, width: 80, unicode: false, plain: false, verbose: false };

    #[test]
    fn a_disc_falls_towards_its_end() {
        let lines = by_position(&samples(&[200.0, 200.0, 150.0, 100.0]), &ASCII);
        assert_eq!(lines.len(), ROWS + 1);
        assert_eq!(lines[0], "  200 MB/s  ##");
        assert_eq!(lines[2], "            ###");
        assert_eq!(lines[7], "     0 B/s  ####");
        assert_eq!(lines[8], "  position  03 GB");
    }

    #[test]
    fn no_line_is_wider_than_the_style_and_few_samples_draw_nothing() {
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        for width in [60, 80, 140] {
            let style = Style { width, ..ASCII };
            assert!(by_position(&samples(&many), &style).iter().all(|line| line.len() <= width));
        }
        assert!(by_position(&samples(&[1.0]), &ASCII).is_empty());
        assert!(by_position(&samples(&[0.0, 0.0]), &ASCII).is_empty());
    }
}
