//! How text may look: colour, width, and which characters the reader can show.

/// Forums and mailing lists wrap code blocks at 80 columns or a little less.
const PLAIN_WIDTH: usize = 78;

/// How text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colour and weight.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Whether characters outside ASCII may be used.
    pub unicode: bool,
    /// Whether the text is made to be pasted in public: ASCII, narrow, and without addresses or identifiers.
    pub plain: bool,
    /// Whether all is shown that is known, not the answer alone.
    pub verbose: bool,
}

impl Style {
    /// Text to be pasted in public.
    pub const PLAIN: Self =
        Self { colour: false, width: PLAIN_WIDTH, unicode: false, plain: true, verbose: false };

    /// Lines that are copied from here: none is wrapped.
    pub const UNWRAPPED: Self =
        Self { colour: false, width: usize::MAX, unicode: true, plain: false, verbose: false };
}
