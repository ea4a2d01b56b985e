//! IO500: `result_summary.txt` of the program (since 2020) and of the scripts before it, and `result.txt`.
//!
//! The program divides by 2³⁰ and by 1000 (`src/phase_ior.c`, `src/phase_mdtest.c`): GiB/s of data, thousands of files
//! or directories per second of metadata. The scripts before it say `GB/s` and mean the same: they divide IOR's MiB/s
//! by 1024. The score of a group is the geometric mean of its phases, that of all the root of both groups' product
//! (`src/main.c`, `calc_score`).

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::number::{GIB, number, plain, seconds, to_bytes, value};
use super::{Derived, Imported, Measured, Op, Page, Side, Tool, Work};

/// The phases that make the score of data.
const DATA: [&str; 4] = ["ior-easy-write", "ior-hard-write", "ior-easy-read", "ior-hard-read"];

/// The phases that make the score of metadata.
const METADATA: [&str; 8] = [
    "mdtest-easy-write",
    "mdtest-hard-write",
    "find",
    "mdtest-easy-stat",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
];

/// The bytes of a transfer of the hard phases and of a random read (`src/phase_ior_hard.c`,
/// `src/phase_ior_rnd4k_easy_read.c`): unaligned on purpose.
const HARD: Bytes = Bytes::new(47_008);

/// The runs in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut reader = Io500Reader { page: *page, found: Vec::new(), section: None };
    for (number, line) in page.lines() {
        reader.see(number, line.trim());
    }
    reader.close();
    reader.found.into_iter().filter_map(Io500Run::finish).collect()
}

struct Io500Reader<'p> {
    page: Page<'p>,
    found: Vec<Io500Run>,
    section: Option<Io500Section>,
}

impl Io500Reader<'_> {
    fn see(&mut self, number: usize, line: &str) {
        if let Some(version) = line.strip_prefix("IO500 version ") {
            self.begin(number, version.split_whitespace().next());
        } else if let Some(phase) = Phase::of_summary(number, line) {
            // A summary of the scripts has no heading; another one begins behind a score, or where a phase stands there again.
            let is_known =
                |run: &Io500Run| run.ended || run.phases.iter().any(|known| known.name == phase.name);
            if self.found.last().is_none_or(is_known) {
                self.begin(number, None);
            }
            self.found.last_mut().into_iter().for_each(|run| run.phases.push(phase.clone()));
        } else if line.starts_with("[SCORE") && line.contains("andwidth ") {
            self.found.last_mut().into_iter().for_each(|run| run.score_of_summary(line));
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            self.close();
            if name == "run" {
                self.begin(number, None);
            }
            let is_known =
                matches!(name, "run" | "SCORE") || DATA.contains(&name) || METADATA.contains(&name);
            // Six decimals are printed.
            let phase = Phase { line: number, name: name.to_owned(), half_digit: 5e-7, ..Phase::default() };
            self.section = is_known.then(|| Io500Section { phase, ..Io500Section::default() });
        } else if let Some(section) = &mut self.section {
            section.see(line);
        }
    }

    fn begin(&mut self, line: usize, version: Option<&str>) {
        let version = version.map(str::to_owned);
        let imported = Imported { version, ..Imported::new(Tool::Io500, self.page.name, line) };
        self.found.push(Io500Run { imported, phases: Vec::new(), scores: Vec::new(), ended: false });
    }

    fn close(&mut self) {
        let Some(section) = self.section.take() else { return };
        match section.phase.name.as_str() {
            "run" | "SCORE" => {}
            // A file of settings has the same sections, without scores.
            _ if section.score.is_none() => return,
            _ if self.found.last().is_none_or(|run| run.ended) => self.begin(section.phase.line, None),
            _ => {}
        }
        if let Some(run) = self.found.last_mut() {
            run.take(section);
        }
    }
}

/// One line of a summary, or a section of `result.txt`.
#[derive(Debug, Clone, Default, PartialEq)]
struct Phase {
    line: usize,
    name: String,
    /// GiB/s, or thousands per second.
    value: f64,
    /// Half of the last digit that is printed.
    half_digit: f64,
    seconds: Option<f64>,
    is_invalid: bool,
    command: Option<String>,
}

impl Phase {
    /// `[RESULT]       ior-easy-write        2.259563 GiB/s : time 332.503 seconds [INVALID]`, or of the scripts
    /// `[RESULT] BW   phase 1            ior_easy_write               16.522 GB/s : time 401.82 seconds`.
    fn of_summary(line: usize, text: &str) -> Option<Self> {
        let (mark, rest) = text.strip_prefix("[RESULT")?.split_once(']')?;
        let (before, after) = rest.split_once(" : time ").or_else(|| rest.split_once(": time "))?;
        let words: Vec<&str> = before.split_whitespace().collect();
        let [.., name, value, unit] = words.as_slice() else { return None };
        let name = name.replace('_', "-");
        let is_data = DATA.contains(&name.as_str());
        let is_unit = if is_data { unit.ends_with("B/s") } else { unit.eq_ignore_ascii_case("kiops") };
        if !is_unit || !(is_data || METADATA.contains(&name.as_str())) {
            return None;
        }
        let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        Some(Self {
            line,
            name,
            value: plain(value)?,
            half_digit: 0.5 * 0.1_f64.powi(i32::try_from(decimals).ok()?),
            seconds: number(after),
            is_invalid: !mark.is_empty() || after.contains("INVALID"),
            command: None,
        })
    }

    fn is_data(&self) -> bool {
        DATA.contains(&self.name.as_str())
    }

    fn measured(&self) -> Measured {
        let is_write = self.name.ends_with("write");
        let is_easy = self.name.contains("easy");
        let mut work = Work::named(self.name.clone());
        if !self.is_data() {
            let mut measured = Measured::new(self.line, work);
            measured.entries = Some(Iops::new(self.value * 1000.0));
            return measured;
        }
        // The easy phases' transfers are what each site sets; the hard ones' places are strided, not at random.
        work.pattern = is_easy.then_some(Pattern::Sequential);
        work.block_size = (!is_easy).then_some(HARD);
        work.queue_depth = Some(1);
        let rate = BytesPerSec::new(self.value * GIB);
        let elapsed = self.seconds.filter(|time| *time > 0.0 && *time < 1e9);
        let side = Side {
            iops: (!is_easy).then(|| Iops::new(rate.get() / HARD.as_f64())),
            bytes: elapsed.and_then(|time| to_bytes(rate.get() * time)),
            elapsed_ns: elapsed.and_then(seconds),
            ..Side::at(rate)
        };
        Measured::of(self.line, work, if is_write { Op::Write } else { Op::Read }, side)
    }
}

/// A section of `result.txt`: `score`, `t_delta` in seconds, `exe`; in `[SCORE]` also `MD` and `BW`.
#[derive(Debug, Clone, Default)]
struct Io500Section {
    phase: Phase,
    score: Option<f64>,
    data: Option<f64>,
    metadata: Option<f64>,
    version: Option<String>,
}

impl Io500Section {
    fn see(&mut self, line: &str) {
        self.phase.is_invalid |= line.starts_with("; ERROR INVALID");
        let Some((key, value)) = line.split_once('=') else { return };
        let value = value.trim();
        let number = || number(value);
        match key.trim() {
            "score" | "SCORE" => {
                self.score = number();
                self.phase.is_invalid |= value.contains("INVALID");
            }
            "t_delta" => self.phase.seconds = number(),
            "BW" => self.data = number(),
            "MD" => self.metadata = number(),
            "exe" => self.phase.command = Some(value.to_owned()),
            "version" => self.version = Some(value.to_owned()),
            _ => {}
        }
    }
}

struct Io500Run {
    imported: Imported,
    phases: Vec<Phase>,
    scores: Vec<(&'static str, f64)>,
    ended: bool,
}

impl Io500Run {
    fn take(&mut self, section: Io500Section) {
        match section.phase.name.as_str() {
            "run" => self.imported.version = section.version,
            "SCORE" => {
                let all = [("MD", section.metadata), ("BW", section.data), ("SCORE", section.score)];
                self.scores.extend(all.into_iter().filter_map(|(name, score)| Some((name, score?))));
                self.ended = true;
            }
            _ => self.phases.extend(section.score.map(|value| Phase { value, ..section.phase })),
        }
    }

    /// `[SCORE ] Bandwidth 0.69 GiB/s : IOPS 10.69 kiops : TOTAL 2.72 [INVALID]`.
    fn score_of_summary(&mut self, line: &str) {
        let keys = [("andwidth ", "BW"), ("IOPS ", "MD"), ("TOTAL ", "SCORE")];
        self.scores.extend(keys.iter().filter_map(|(key, name)| Some((*name, value(line, key)?))));
        // That of the extended run, `[SCOREX]`, is of other phases.
        self.ended = true;
    }

    fn finish(mut self) -> Option<Imported> {
        let scores = self.scores.iter().take(3);
        self.imported.derived = scores.filter_map(|(name, score)| self.derived(name, *score)).collect();
        self.imported.truncated = !self.ended && !self.phases.is_empty();
        let invalid: Vec<&str> =
            self.phases.iter().filter(|phase| phase.is_invalid).map(|phase| phase.name.as_str()).collect();
        if let [first, ..] = invalid.as_slice() {
            let text =
                format!("IO500 marks {} of {} phases INVALID: {first}", invalid.len(), self.phases.len());
            self.imported.failures.push(text);
        }
        let command =
            self.phases.iter().filter(|phase| phase.is_data()).find_map(|phase| phase.command.clone());
        self.imported.command = command;
        self.imported.measurements = self.phases.iter().map(Phase::measured).collect();
        (!self.imported.is_empty()).then_some(self.imported)
    }

    /// What the printed phases make of a score, where all of them are there and none is nothing.
    fn derived(&self, name: &str, printed: f64) -> Option<Derived> {
        let (computed, rounding) = match name {
            "BW" => self.geometric_mean(&DATA)?,
            "MD" => self.geometric_mean(&METADATA)?,
            _ => {
                let (data, of_data) = self.geometric_mean(&DATA)?;
                let (metadata, of_metadata) = self.geometric_mean(&METADATA)?;
                ((data * metadata).sqrt(), of_data + of_metadata)
            }
        };
        Some(Derived { name: format!("score {name}"), printed, computed, rounding })
    }

    /// The geometric mean of phases, and how far their rounding can move it.
    fn geometric_mean(&self, names: &[&str]) -> Option<(f64, f64)> {
        let (mut logarithms, mut rounding) = (0.0, 0.0);
        for name in names {
            let phase =
                self.phases.iter().find(|phase| phase.name == *name).filter(|phase| phase.value > 0.0)?;
            logarithms += libm::log(phase.value);
            rounding += phase.half_digit / phase.value;
        }
        let count = names.len() as f64;
        Some((libm::exp(logarithms / count), rounding / count + 1e-4))
    }
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Nanos;

    use super::*;

    /// The figures of a run on a cloud's Lustre in 2022, at six decimals.
    const SUMMARY: &str = "IO500 version io500-sc21_v3\n\
        [RESULT]       ior-easy-write        2.259563 GiB/s : time 332.503 seconds\n\
        [RESULT]    mdtest-easy-write        9.477171 kIOPS : time 318.456 seconds\n\
        [      ]            timestamp        0.000000 kIOPS : time 0.000 seconds\n\
        [RESULT]       ior-hard-write        0.137260 GiB/s : time 394.965 seconds\n\
        [RESULT]    mdtest-hard-write        2.256176 kIOPS : time 334.350 seconds\n\
        [RESULT]                 find      364.668060 kIOPS : time 10.058 seconds\n\
        [RESULT]        ior-easy-read        2.254557 GiB/s : time 333.201 seconds\n\
        [RESULT]     mdtest-easy-stat       35.714169 kIOPS : time 82.155 seconds\n\
        [RESULT]        ior-hard-read        0.331565 GiB/s : time 163.505 seconds\n\
        [RESULT]     mdtest-hard-stat        7.394830 kIOPS : time 98.398 seconds\n\
        [RESULT]   mdtest-easy-delete        7.691341 kIOPS : time 381.333 seconds\n\
        [RESULT]     mdtest-hard-read        6.271649 kIOPS : time 115.967 seconds\n\
        [RESULT]   mdtest-hard-delete        1.722383 kIOPS : time 422.224 seconds\n\
        [SCORE] Bandwidth 0.693905 GiB/s : IOPS 10.694340 kiops : TOTAL 2.724124\n";

    fn one(body: &str) -> Imported {
        let mut found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn data_is_in_gib_and_metadata_in_thousands_and_the_scores_are_geometric_means() {
        let run = one(SUMMARY);
        assert_eq!((run.version.as_deref(), run.measurements.len()), (Some("io500-sc21_v3"), 12));
        let write = run.measurements[0].write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 2.259_563 * GIB);
        assert_eq!(run.measurements[1].entries.map(|rate| rate.get()), Some(9477.171));
        assert!(run.measurements[1].sides().next().is_none());
        assert_eq!(run.derived.len(), 3);
        assert!(run.derived.iter().all(Derived::agrees), "{:?}", run.derived);
        assert!(run.failures.is_empty() && !run.truncated);
    }

    #[test]
    fn a_score_of_other_phases_does_not_agree() {
        let run = one(&SUMMARY.replace("TOTAL 2.724124", "TOTAL 3.724124").replace("2.259563", "9.259563"));
        assert_eq!(run.derived.iter().filter(|derived| !derived.agrees()).count(), 2, "{:?}", run.derived);
    }

    #[test]
    fn the_summary_of_the_scripts() {
        let run = one(
            "[RESULT] BW   phase 1            ior_easy_write               16.522 GB/s : time 401.82 seconds\n\
            [RESULT] IOPS phase 1         mdtest_easy_write              132.210 kiops : time 333.10 seconds\n",
        );
        assert_eq!(
            run.measurements[0].write.as_ref().map(|side| side.bytes_per_second.get()),
            Some(16.522 * GIB)
        );
        assert_eq!(run.measurements[1].entries.map(|rate| rate.get().round()), Some(132_210.0));
        assert!(run.truncated);
    }

    #[test]
    fn phases_that_the_tool_calls_invalid_are_failures() {
        let of_2023 = one(
            "IO500 version io500-isc23 (standard)\n[RESULT]       ior-easy-write        0.570005 GiB/s : time 1.379 seconds [INVALID]\n",
        );
        let of_2020 =
            one("[RESULT-invalid]       ior-easy-write        0.015926 GiB/s : time 300.414 seconds\n");
        assert_eq!((of_2023.failures.len(), of_2020.failures.len()), (1, 1));
    }

    #[test]
    fn sections_of_the_long_file() {
        let run = one(
            "[run]\nprocs = 20\nversion = io500-sc23_v1\n\n[ior-easy]\n\n[ior-easy-write]\nt_start = 2023-01-01 10:00:00\n\
            exe = ./ior -C -w -D 300 -F\nthroughput-stonewall = 3.10\nscore = 2.259563\nt_delta = 332.5030\n\n\
            [mdtest-easy-write]\nrate-stonewall = 9.5\nscore = 9.477171\n; ERROR INVALID Runtime is smaller\nt_delta = 31.4\n\n[SCORE]\nMD = 1.0\nBW = 2.0\nSCORE = 1.4 [INVALID]\n",
        );
        assert_eq!((run.version.as_deref(), run.measurements.len()), (Some("io500-sc23_v1"), 2));
        assert_eq!(run.command.as_deref(), Some("./ior -C -w -D 300 -F"));
        assert_eq!(
            run.measurements[0].write.as_ref().and_then(|side| side.elapsed_ns),
            Some(Nanos::new(332_503_000_000))
        );
        assert_eq!((run.failures.len(), run.truncated), (1, false));
        // Settings have sections of the same names.
        assert!(read(&Page { name: "x", body: "[ior-easy-write]\nAPI = POSIX\nrun = TRUE\n" }).is_empty());
    }
}
