//! Microsoft's diskspd: text and XML.
//!
//! Sources: diskspd's `ResultParser.cpp` and `XmlResultParser.cpp`, versions 2.0 and 2.2. MiB are binary. Its
//! outstanding I/Os are for each thread and target.

mod fleet;
mod linux;
mod text;
mod xml;

pub(super) use fleet::unite;
pub(super) use linux::read as read_linux;
pub(super) use text::read as read_text;
pub(super) use xml::read as read_xml;
