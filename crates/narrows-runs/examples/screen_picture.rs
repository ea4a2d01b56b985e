//! Makes a picture of a terminal's screen, as `tmux capture-pane -e -p` prints it: `docs/gallery/top.svg`. `make top-pictures` does it.
//!
//! `tmux capture-pane -e -p | cargo run -p narrows-report --example screen_picture -- 140 > docs/gallery/top.svg`

#![expect(clippy::print_stdout, reason = "it prints the picture")]

use std::io::Read;

use anstyle_svg::Term;

/// Columns of the screen, where nobody says how many.
const COLUMNS: usize = 140;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let columns = std::env::args().nth(1).map_or(Ok(COLUMNS), |columns| columns.parse())?;
    let mut screen = String::new();
    std::io::stdin().read_to_string(&mut screen)?;
    println!("{}", Term::new().min_width_px(columns * 9).render_svg(screen.trim_end()));
    Ok(())
}
