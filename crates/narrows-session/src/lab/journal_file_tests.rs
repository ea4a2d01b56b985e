use super::super::names::LabId;
use super::super::step::Step;
use super::*;
use narrows_load::guard::RunSecret;
use std::os::fd::AsRawFd;

fn head() -> Head {
    Head::new(LabId::new([9; 16]), RunSecret::new([2; 32]), "b".to_owned(), "md127".to_owned())
}

const SECRET: Secret = Secret([5; 32]);

fn create(path: &Path) -> Result<JournalFile, JournalError> {
    JournalFile::create_sealed(path.to_owned(), &head(), SECRET)
}

fn open(path: &Path) -> Result<(JournalFile, Journal), JournalError> {
    JournalFile::open_sealed(path, Duration::from_millis(1), |_| Ok(SECRET))
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = crate::testing::directory_of_ours();
    let path = dir.path().join("lab.jsonl");
    (dir, path)
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_journal_is_ours_alone_and_read_again() {
    let (_dir, path) = place();
    let mut journal = create(&path).unwrap();
    journal.append(&Line::Step(Step::Group)).unwrap();
    assert!(create(&path).is_err(), "nothing is overwritten");
    let taken = open(&path).unwrap_err();
    assert!(matches!(taken, JournalError::InUse { .. }), "{taken}");
    drop(journal);
    let (mut journal, read) = open(&path).unwrap();
    assert_eq!(read.steps, [Step::Group]);
    journal.append(&Line::Clean).unwrap();
    drop(journal);
    let (journal, read) = open(&path).unwrap();
    assert!(read.steps.is_empty() && read.damaged == 0);
    journal.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn what_was_cut_short_does_not_spoil_the_next_line() {
    let (_dir, path) = place();
    drop(create(&path).unwrap());
    let whole = fs::read(&path).unwrap();
    for tail in ["{\"step\":{\"thi", "{\"step\":{\"thing\":\"group\"}}\n", "\"clean\"\n{\"seal\":\"00"] {
        fs::write(&path, [&whole[..], tail.as_bytes()].concat()).unwrap();
        let (mut journal, read) = open(&path).unwrap();
        assert!(!read.has_left());
        journal.append(&Line::Step(Step::Group)).unwrap();
        drop(journal);
        let (_, read) = open(&path).unwrap();
        assert_eq!((read.steps, read.damaged), (vec![Step::Group], 0));
    }
}

#[test]
fn a_journal_of_a_lab_that_did_nothing_is_removed() {
    let (_dir, path) = place();
    write(&path, "{\"format\":\"narrows-lab/2\",\"id");
    let opened = open(&path);
    assert!(matches!(opened, Err(JournalError::NoJournal { source: NoJournal::Empty, .. })));
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_no_journal_stays_as_it_is() {
    let (_dir, path) = place();
    for text in
        ["", "{", "{\"format\":\"narr", "one line without an end", "lines\nof mine\n", "{\"a\":1}\n{\"b"]
    {
        write(&path, text);
        let opened = open(&path);
        assert!(opened.is_err(), "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// What a forged journal is found to be, and that it stays as it is.
fn refused(path: &Path) -> String {
    let before = fs::read(path).unwrap();
    let error = open(path).unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before);
    error.to_string()
}

#[test]
fn a_journal_that_others_could_have_written_does_not_count() {
    let (dir, path) = place();
    drop(create(&path).unwrap());
    for mode in [0o644, 0o660, 0o666, 0o700] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert!(refused(&path).contains("has mode"), "{mode:o}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    assert!(refused(&path).contains("has mode 0755"));
    assert!(create(&dir.path().join("new")).is_err());
    fs::set_permissions(dir.path(), Permissions::from_mode(0o700)).unwrap();
    fs::hard_link(&path, dir.path().join("other")).unwrap();
    assert!(refused(&path).contains("2 names"));
    fs::remove_file(dir.path().join("other")).unwrap();
    std::os::unix::fs::symlink(&path, dir.path().join("link")).unwrap();
    assert!(open(&dir.path().join("link")).is_err(), "a link is not followed");
    assert!(open(&path).is_ok());
}

#[test]
fn a_journal_that_was_copied_changed_or_written_by_others_does_not_count() {
    let (dir, path) = place();
    let mut journal = create(&path).unwrap();
    journal.append(&Line::Step(Step::Group)).unwrap();
    drop(journal);
    let text = fs::read_to_string(&path).unwrap();
    let copy = dir.path().join("copy.jsonl");
    write(&copy, &text);
    assert!(refused(&copy).contains("does not count"));
    let other = JournalFile::open_sealed(&path, Duration::ZERO, |_| Ok(Secret([6; 32])));
    assert!(matches!(other, Err(JournalError::Forged { .. })));
    fs::write(&path, text.replace("\"md127\"", "\"md126\"")).unwrap();
    assert!(refused(&path).contains("does not count"));
    fs::write(&path, text.replace("group", "clean")).unwrap();
    let (_, read) = open(&path).unwrap();
    assert_eq!((read.steps.len(), read.damaged), (0, 1), "its head counts, and the rest is damaged");
}

#[test]
fn a_damaged_journal_keeps_what_is_whole_and_can_go_on() {
    let (_dir, path) = place();
    let mut journal = create(&path).unwrap();
    journal.append(&Line::Step(Step::Group)).unwrap();
    drop(journal);
    let garbage = b"\0\0\0\n{\"step\":7}\n{\"step\":8}\n";
    let text = [&fs::read(&path).unwrap()[..], garbage].concat();
    fs::write(&path, &text).unwrap();
    let (mut journal, read) = open(&path).unwrap();
    assert_eq!((read.steps, read.damaged), (vec![Step::Group], 1));
    assert_eq!(fs::read(&path).unwrap(), text, "it stays damaged until it is undone");
    journal.append(&Line::Clean).unwrap();
    drop(journal);
    assert!(!open(&path).unwrap().1.has_left());
}

#[test]
#[expect(clippy::disallowed_types, reason = "the test is about a program that inherits the lock")]
fn a_program_that_we_started_keeps_the_lock() {
    let (_dir, path) = place();
    let journal = create(&path).unwrap();
    let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    // As a process that is killed does: nobody calls flock(LOCK_UN).
    let descriptor = journal.file.as_raw_fd();
    std::mem::forget(journal);
    nix::unistd::close(descriptor).unwrap();
    let taken = open(&path);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(taken, Err(JournalError::InUse { .. })));
    let patient = JournalFile::open_sealed(&path, Duration::from_secs(5), |_| Ok(SECRET));
    assert!(patient.is_ok());
}
