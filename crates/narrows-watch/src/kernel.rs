//! What the kernel's log says of links, by the reader that understands pasted logs.

use crate::record::{KernelEvent, LinkEvent};
use narrows_machine::listen::Message;
use narrows_machine::log::LogKind;
use narrows_paste::capture::{Text, dmesg};

/// The name under which the reader knows these lines.
const NAME: &str = "kmsg";

/// The events of links in these messages, each with the time of the first message that tells of it.
pub fn events(messages: &[Message]) -> Vec<KernelEvent> {
    // One message at a time: the reader counts what is told twice and keeps the place of the first alone.
    let mut events: Vec<KernelEvent> = messages.iter().flat_map(of_one).collect();
    events.dedup_by(|later, first| later == first);
    events
}

fn of_one(message: &Message) -> Vec<KernelEvent> {
    let line =
        format!("[{:5}.{:06}] {}\n", message.micros / 1_000_000, message.micros % 1_000_000, message.text);
    let part = dmesg::read(&Text::new(NAME, line.as_bytes()));
    let events = part.machine.log.into_iter().filter_map(|event| {
        let (what, error) = link_event(&event.kind)?;
        let function = event.pci?.to_string();
        Some(KernelEvent { micros: message.micros, function, what, error })
    });
    events.collect()
}

fn link_event(kind: &LogKind) -> Option<(LinkEvent, Option<String>)> {
    Some(match kind {
        LogKind::AerError { name, .. } => (LinkEvent::Error, Some((*name).to_owned())),
        LogKind::AerMessage(_) => (LinkEvent::Error, None),
        LogKind::LinkDown | LogKind::Contained => (LinkEvent::Down, None),
        LogKind::LinkUp => (LinkEvent::Up, None),
        LogKind::LinkRetrainedAt(_) | LogKind::RetrainFailed => (LinkEvent::Retrained, None),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[(u64, &str)]) -> Vec<(u64, String, LinkEvent)> {
        let messages: Vec<Message> = lines
            .iter()
            .map(|(micros, text)| Message { micros: *micros, text: (*text).to_owned() })
            .collect();
        events(&messages).into_iter().map(|event| (event.micros, event.function, event.what)).collect()
    }

    #[test]
    fn errors_and_states_of_links_are_told_with_their_times() {
        let told = told(&[
            (5_140_900, "pcieport 0000:00:1c.4: AER: Corrected error message received from 0000:06:00.0"),
            (9_140_900, "pcieport 0000:00:1c.4: pciehp: Slot(3): Link Down"),
            (9_200_000, "usb 1-1: new high-speed USB device number 2 using xhci_hcd"),
        ]);
        let port = "0000:00:1c.4".to_owned();
        assert!(told.contains(&(9_140_900, port, LinkEvent::Down)), "{told:?}");
        assert!(
            told.iter().any(|(micros, _, what)| (*micros, *what) == (5_140_900, LinkEvent::Error)),
            "{told:?}"
        );
        assert!(told.iter().all(|(micros, _, _)| *micros != 9_200_000));
    }
}
