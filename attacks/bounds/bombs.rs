//! Small inputs that cost much: each must end soon, with little memory and a clear error, or be read like any other.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::ground::{Ground, text};
use super::super::narrows::{Answer, Run};

/// The most memory and time that any input may cost. A debug build is some ten times as slow as a release build.
const MEMORY: u64 = 1 << 30;
const SECONDS: u64 = if cfg!(debug_assertions) { 60 } else { 20 };

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        bomb("an archive of 600,000 entries", "tar.gz", many_entries, &[&["FILE"]]),
        bomb(
            "8 GiB of zeros, packed",
            "gz",
            |path| packed_zeros(path, 8192),
            &[&["FILE"], &["predict", "FILE"]],
        ),
        bomb(
            "a packed archive with one entry of 8 GiB",
            "tar.gz",
            |path| one_entry(path, 8192),
            &[&["FILE"]],
        ),
        bomb("an archive whose entry claims to be 8 EiB", "tar", claimed, &[&["FILE"]]).quick(),
        bomb("20,000 links in a chain", "tar", chained, &[&["FILE"]]).quick(),
        bomb("links in a circle", "tar", circle, &[&["FILE"]]).quick(),
        bomb("names of 100,000 characters", "tar", long_names, &[&["FILE"]]),
        bomb("packed ten times", "gz", nested, &[&["FILE"]]),
        bomb(
            "results of 50,000 jobs",
            "json",
            many_jobs,
            &[&["FILE"], &["FILE", "--csv"], &["compare", "FILE", "FILE"]],
        ),
        bomb("brackets a million deep", "json", |path| Ok(fs::write(path, "[".repeat(1_000_000))?), JSON)
            .quick(),
        bomb(
            "an object a million deep",
            "json",
            |path| Ok(fs::write(path, "{\"jobs\":".repeat(1_000_000))?),
            JSON,
        ),
        bomb(
            "tables a hundred thousand deep",
            "path.toml",
            |path| Ok(fs::write(path, format!("a = {}1{}\n", "[".repeat(100_000), "]".repeat(100_000)))?),
            &[&["predict", "FILE"], &["plan", "FILE"]],
        )
        .quick(),
        bomb(
            "a million parts",
            "path.toml",
            |path| Ok(fs::write(path, "[[part]]\nname = \"x\"\n".repeat(1_000_000))?),
            &[&["predict", "FILE"], &["plan", "FILE"]],
        ),
        bomb("a line of 200 MB", "txt", |path| Ok(fs::write(path, vec![b'x'; 200_000_000])?), &[&["FILE"]]),
        bomb("a sparse file of 1 TiB", "txt", |path| Ok(File::create(path)?.set_len(1 << 40)?), EVERYTHING)
            .quick(),
        bomb(
            "5 million lines of nothing",
            "txt",
            |path| Ok(fs::write(path, "\n".repeat(5_000_000))?),
            &[&["FILE"]],
        ),
        Attack::new(Class::Bounds, "a copy with 4 GiB of buffers for each thread", copy_buffers).quick(),
        Attack::new(Class::Bounds, "a fleet's earlier run of a million lines", since),
    ]
}

type Commands = &'static [&'static [&'static str]];

const JSON: Commands =
    &[&["FILE"], &["compare", "FILE", "FILE"], &["FILE"], &["measure", "--resume", "FILE"]];

/// Every command that reads a file that is named.
pub(super) const EVERYTHING: Commands = &[
    &["FILE"],
    &["compare", "FILE", "FILE"],
    &["predict", "FILE"],
    &["plan", "FILE"],
    &["measure", "--resume", "FILE"],
    &["SAMPLE", "FILE"],
    &["CAPTURES", "--fleet", "--since", "FILE"],
    &["FILE", "--fleet"],
];

/// Runs a command with its files filled in.
pub(super) fn run(ground: &Ground, words: &[&str], file: &Path, seconds: u64) -> Result<Answer> {
    let sample = ground.path("sample.txt");
    fs::write(&sample, "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.0 s, 537 MB/s\n")?;
    let captures = ground.directory("captures")?;
    fs::write(
        captures.join("host.txt"),
        "[    0.000000] Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)\n",
    )?;
    let fill = |word: &&str| -> Result<String> {
        Ok(word
            .replace("FILE", text(file)?)
            .replace("SAMPLE", text(&sample)?)
            .replace("CAPTURES", text(&captures)?))
    };
    let words: Vec<String> = words.iter().map(fill).collect::<Result<_>>()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Run::new(ground, &words).within(seconds).answer()
}

fn bomb(name: &str, ending: &'static str, make: fn(&Path) -> Result<()>, commands: Commands) -> Attack {
    Attack::new(Class::Bounds, name, move |ground: &Ground, judge: &mut Judge| {
        let path = ground.path(&format!("bomb.{ending}"));
        make(&path)?;
        for words in commands {
            let answer = run(ground, words, &path, SECONDS)?;
            bounded(judge, &answer, &words.join(" "));
        }
        Ok(())
    })
}

fn bounded(judge: &mut Judge, answer: &Answer, when: &str) {
    answer.must_be_orderly(judge, when);
    judge.that(answer.memory < MEMORY, || format!("{when}: took {} MB of memory", answer.memory / 1_000_000));
    // What could not be read is said, with what to do.
    let is_silent = answer.status == Some(2) && answer.err.trim().is_empty();
    judge.that(!is_silent, || format!("{when}: refused without a word"));
}

fn gz(path: &Path) -> Result<GzEncoder<File>> {
    Ok(GzEncoder::new(File::create(path)?, Compression::best()))
}

fn header(size: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

fn many_entries(path: &Path) -> Result<()> {
    let mut archive = tar::Builder::new(gz(path)?);
    for index in 0..600_000 {
        archive.append_data(&mut header(0), format!("{index}"), std::io::empty())?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

fn packed_zeros(path: &Path, mib: usize) -> Result<()> {
    let mut out = gz(path)?;
    let zeros = vec![0; 1 << 20];
    for _ in 0..mib {
        out.write_all(&zeros)?;
    }
    out.finish()?;
    Ok(())
}

fn one_entry(path: &Path, mib: u64) -> Result<()> {
    let mut archive = tar::Builder::new(gz(path)?);
    let zeros = std::io::Read::take(std::io::repeat(0), mib << 20);
    archive.append_data(&mut header(mib << 20), "dmesg.txt", zeros)?;
    archive.into_inner()?.finish()?;
    Ok(())
}

fn claimed(path: &Path) -> Result<()> {
    let mut header = header(u64::MAX / 2);
    header.set_path("dmesg.txt")?;
    header.set_cksum();
    Ok(fs::write(path, [header.as_bytes(), &[b'x'; 512][..]].concat())?)
}

fn links(path: &Path, pairs: impl Iterator<Item = (String, String)>) -> Result<()> {
    let mut archive = tar::Builder::new(File::create(path)?);
    for (name, target) in pairs {
        let mut header = header(0);
        header.set_entry_type(tar::EntryType::Symlink);
        archive.append_link(&mut header, name, target)?;
    }
    archive.append_data(&mut header(12), "sys/end", &b"Linux 6.1.0\n"[..])?;
    archive.into_inner()?;
    Ok(())
}

fn chained(path: &Path) -> Result<()> {
    links(path, (0..20_000).map(|index| (format!("sys/block/l{index}"), format!("l{}", index + 1))))
}

fn circle(path: &Path) -> Result<()> {
    links(path, (0..1000).map(|index| (format!("sys/block/l{index}"), format!("l{}", (index + 1) % 1000))))
}

fn long_names(path: &Path) -> Result<()> {
    let mut archive = tar::Builder::new(File::create(path)?);
    for index in 0..50 {
        archive.append_data(
            &mut header(0),
            format!("sys/{}{index}", "d/".repeat(50_000)),
            std::io::empty(),
        )?;
    }
    archive.into_inner()?;
    Ok(())
}

fn nested(path: &Path) -> Result<()> {
    let mut bytes = vec![b'x'; 1000];
    for _ in 0..10 {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(&bytes)?;
        bytes = out.finish()?;
    }
    Ok(fs::write(path, bytes)?)
}

fn many_jobs(path: &Path) -> Result<()> {
    let mut out = std::io::BufWriter::new(File::create(path)?);
    out.write_all(b"{\"fio version\":\"fio-3.33\",\"global options\":{\"bs\":\"4k\"},\"jobs\":[")?;
    for index in 0..50_000 {
        let comma = if index == 0 { "" } else { "," };
        write!(
            out,
            "{comma}{{\"jobname\":\"j{index}\",\"groupid\":{index},\"error\":0,\"job options\":{{\"rw\":\"randread\",\"iodepth\":\"{}\"}},\"read\":{{\"io_bytes\":4096000,\"bw_bytes\":{},\"iops\":1000.0,\"runtime\":1000,\"total_ios\":1000}}}}",
            index % 64 + 1,
            4_096_000 + index
        )?;
    }
    out.write_all(b"]}")?;
    Ok(out.flush()?)
}

fn copy_buffers(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let source = ground.path("source.bin");
    File::create(&source)?.set_len(64 << 20)?;
    fs::write(ground.path("x"), "x")?;
    for (size, depth) in [("64M", "256"), ("1G", "64"), ("4G", "4096")] {
        let target = ground.path("copied");
        let words = ["copy", text(&source)?, text(&target)?, "--block-size", size, "--depth", depth];
        let answer = Run::new(ground, &words).within(SECONDS).answer()?;
        bounded(judge, &answer, &format!("copy --block-size {size} --depth {depth}"));
    }
    Ok(())
}

fn since(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let path = ground.path("since.jsonl");
    fs::write(&path, "{\"host\":\"a\",\"findings\":[]}\n".repeat(1_000_000))?;
    let answer = run(ground, &["CAPTURES", "--fleet", "--since", "FILE"], &path, SECONDS)?;
    bounded(judge, &answer, "--since");
    Ok(())
}
