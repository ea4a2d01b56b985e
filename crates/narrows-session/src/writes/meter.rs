//! What the device below counts as written, beside what was sent: file systems add records of their own.

use std::time::{Duration, Instant};

use narrows_base::units::Bytes;
use narrows_machine::activity::Sample;
use narrows_machine::root::Root;
use narrows_model::path::Path;

/// What others write is known from a time in which we wrote nothing, if it is as long as this.
const QUIET: Duration = Duration::from_millis(500);

/// The counter of the block device that a file system lies on: the outermost of a path, where none but the users of that file
/// system write.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter {
    /// The device, and what it had counted when the run began.
    device: Option<(String, u64)>,
    /// What it had counted when we began to write, what had been sent then, and when that was; `None` while we do not.
    since: Option<(u64, Bytes, Instant)>,
    /// What it had counted when we last ended to write, and when that was.
    quiet: Option<(u64, Instant)>,
    /// Bytes that others write in a second.
    others: f64,
    /// What was counted beside what was sent since we began to write.
    beside: Bytes,
}

impl Meter {
    /// The counter of the outermost block device of `path`, from now on.
    pub(super) fn of(path: &Path, root: &Root) -> Self {
        let now = Sample::of_disks(root).disks;
        let mut names = path.hops.iter().filter_map(|hop| hop.block_name());
        let device = names.find_map(|name| Some((name.to_owned(), now.get(name)?.written_bytes.get())));
        Self { device, ..Self::default() }
    }

    /// What the device has counted since the run began; `None` where none counts.
    pub(super) fn written(&self, root: &Root) -> Option<Bytes> {
        let (_, first) = self.device.as_ref()?;
        Some(Bytes::new(self.counted(root)?.saturating_sub(*first)))
    }

    /// We begin to write, when `sent` were sent before.
    pub(super) fn begin(&mut self, root: &Root, sent: Bytes) {
        if let Some(counted) = self.counted(root) {
            if let Some((before, when)) = self.quiet.filter(|(_, when)| when.elapsed() >= QUIET) {
                self.others = counted.saturating_sub(before) as f64 / when.elapsed().as_secs_f64();
            }
            self.since = Some((counted, sent, Instant::now()));
            self.beside = Bytes::new(0);
        }
    }

    /// What more was counted than was sent, by us or by others, since the last look.
    pub(super) fn look(&mut self, root: &Root, sent: Bytes) -> Bytes {
        let Some((before, sent_before, begun)) = self.since else { return Bytes::new(0) };
        let written = self.counted(root).unwrap_or(before).saturating_sub(before);
        let by_others = (self.others * begun.elapsed().as_secs_f64()) as u64;
        self.more(Bytes::new(written), sent.saturating_sub(sent_before) + Bytes::new(by_others))
    }

    /// We write no more for now.
    pub(super) fn end(&mut self, root: &Root) {
        self.since = None;
        self.quiet = self.counted(root).map(|counted| (counted, Instant::now()));
    }

    fn more(&mut self, written: Bytes, expected: Bytes) -> Bytes {
        let beside = written.saturating_sub(expected);
        let more = beside.saturating_sub(self.beside);
        self.beside = self.beside.max(beside);
        more
    }

    fn counted(&self, root: &Root) -> Option<u64> {
        let (name, _) = self.device.as_ref()?;
        Some(Sample::of_disks(root).disks.get(name)?.written_bytes.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_beside_what_was_sent_is_told_once() {
        let mut meter = Meter::default();
        let mib = Bytes::from_mib;
        assert_eq!(meter.more(mib(10), mib(12)), mib(0), "some is still on its way");
        assert_eq!(meter.more(mib(25), mib(22)), mib(3));
        assert_eq!(meter.more(mib(35), mib(32)), mib(0));
        assert_eq!(meter.more(mib(36), mib(36)), mib(0));
        assert_eq!(meter.more(mib(41), mib(36)), mib(2));
    }

    #[test]
    fn without_a_device_nothing_is_counted() {
        let mut meter = Meter::default();
        let root = Root::live();
        meter.begin(&root, Bytes::new(5));
        assert_eq!((meter.look(&root, Bytes::new(7)), meter.written(&root)), (Bytes::new(0), None));
        meter.end(&root);
    }
}
