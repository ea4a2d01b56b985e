//! Elements of hwloc's XML. Both of hwloc's parsers read it: libxml2, and its own, which knows five entities only and
//! wants the first lines exactly as hwloc writes them (`hwloc/topology-xml-nolibxml.c`).

use std::borrow::Cow;

use quick_xml::Writer;
use quick_xml::escape::partial_escape;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesEnd, BytesStart, Event};
use quick_xml::name::QName;

use crate::sanitize::inert;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n";

/// A document that grows.
pub(super) struct Xml {
    writer: Writer<Vec<u8>>,
    /// hwloc wants a number for each object that no other has.
    objects: u32,
}

/// Names and values of attributes.
pub(super) type Attributes<'a> = &'a [(&'a str, String)];

impl Xml {
    pub(super) fn new() -> Self {
        let mut xml = Self { writer: Writer::new_with_indent(HEAD.into(), b' ', 2), objects: 0 };
        xml.write(Event::Start(element("topology", &[("version", "2.0".to_owned())])));
        xml
    }

    /// Opens an object; every one must be closed.
    pub(super) fn open(&mut self, kind: &str, attributes: Attributes<'_>) {
        self.objects += 1;
        let own = [("type", kind.to_owned()), ("gp_index", self.objects.to_string())];
        let mut tag = element("object", &own);
        push(&mut tag, attributes);
        self.write(Event::Start(tag));
    }

    /// Closes the object that was opened last.
    pub(super) fn close(&mut self) {
        self.write(Event::End(BytesEnd::new("object")));
    }

    /// Writes an object without children.
    pub(super) fn leaf(&mut self, kind: &str, attributes: Attributes<'_>) {
        self.open(kind, attributes);
        self.close();
    }

    /// Writes an info of the object that is open.
    pub(super) fn info(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let tag = element("info", &[("name", name.to_owned()), ("value", value.to_owned())]);
            self.write(Event::Empty(tag));
        }
    }

    /// The document.
    pub(super) fn finish(mut self) -> String {
        self.write(Event::End(BytesEnd::new("topology")));
        let mut text = String::from_utf8_lossy(&self.writer.into_inner()).into_owned();
        text.push('\n');
        text
    }

    fn write(&mut self, event: Event<'_>) {
        // Memory takes everything.
        let _ = self.writer.write_event(event);
    }
}

fn element(name: &str, attributes: Attributes<'_>) -> BytesStart<'static> {
    let mut tag = BytesStart::new(name.to_owned());
    push(&mut tag, attributes);
    tag
}

fn push(tag: &mut BytesStart<'_>, attributes: Attributes<'_>) {
    for (name, value) in attributes {
        tag.push_attribute(Attribute { key: QName(name), value: Cow::Owned(escaped(value)) });
    }
}

/// Without what XML cannot hold or a terminal obeys, and without `&apos;`, which hwloc's own parser does not know.
fn escaped(text: &str) -> String {
    let whole = inert(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    partial_escape(whole.as_str()).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_and_tags_stay_in_their_value() {
        assert_eq!(escaped("a\"><b c='&'\u{1b}[2J\n"), "a&quot;&gt;&lt;b c='&amp;'\\x1b[2J\\n");
    }

    proptest! {
        #[test]
        fn any_value_is_read_back_as_its_inert_form(text: String) {
            let mut xml = Xml::new();
            xml.open("Machine", &[("name", text.clone())]);
            xml.close();
            let document = xml.finish();
            let mut reader = quick_xml::Reader::from_str(&document);
            let mut values = Vec::new();
            loop {
                match reader.read_event().unwrap() {
                    Event::Eof => break,
                    Event::Start(tag) => values.extend(tag.attributes().map(|a| {
                        quick_xml::escape::unescape(&a.unwrap().value).unwrap().into_owned()
                    })),
                    _ => {}
                }
            }
            let want = inert(&text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
            prop_assert_eq!(values, ["2.0", "Machine", "1", want.as_str()]);
        }
    }
}
