//! What taking evidence costs: the processor time that it takes in the measured time, which is the most that a load could
//! lack; and the same load with and without it in the order ABBA, on a scratch file in DIR (best in memory, where the processor
//! is what limits). The second says something on a machine without other work only.
//!
//! `cargo run --release -p narrows-session --example watch_cost -- DIR [ROUNDS]`

#![expect(clippy::print_stdout, reason = "it shows a figure")]

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use narrows_base::units::Bytes;
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;
use narrows_load::scratch::{ScratchFile, ScratchOptions};
use narrows_machine::root::Root;
use narrows_session::measure::{Command, Follower, Kernel, Look, Processors, Session, Timing, seed};

/// The time of each run: longer than what the ladder waits for before it reads threads in between.
const TIME: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().ok_or("which directory?")?;
    let rounds: u32 = arguments.next().map_or(Ok(6), |rounds| rounds.parse())?;
    let options = ScratchOptions { seed: seed(), ..ScratchOptions::default() };
    let go_on = &mut |_: Bytes, _: Bytes| ControlFlow::Continue(());
    let target = ScratchFile::create(Path::new(&dir), Bytes::from_mib(256), &options, go_on)?.into_target();
    let root = Root::live();
    println!("processors: {}", std::thread::available_parallelism()?);
    for command in [Command::Check, Command::Ladder] {
        let on = (Processors { tied_to: Vec::new(), online: 1 }, Vec::new());
        let session = Session::begin(command, (&root, Kernel), on, Arc::default(), Duration::ZERO);
        let timing = Timing::exactly(TIME, Duration::from_millis(200));
        let asked = session.asked(&LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 8), &timing);
        let spent = Spent::default();
        let with = || session.run(&asked, &[&target], &spent).map(|mut seen| seen.single().bytes_per_second);
        let without = || session.try_out(&asked, &target).map(|measurement| measurement.bytes_per_second);
        let mut changes = Vec::new();
        for _ in 0..rounds {
            let [first, second, third, fourth] = [without()?, with()?, with()?, without()?];
            // Logarithms: a ratio of rates that vary much is far above one on average when both are alike.
            changes.push((second.get() * third.get() / (first.get() * fourth.get())).ln() / 2.0);
        }
        show(command, &changes, &spent);
    }
    Ok(())
}

/// The processor time of the thread that watches, from its first look in each measured time to the end of that.
#[derive(Default)]
struct Spent {
    first: Cell<Option<(Duration, Instant)>>,
    /// Processor time and time.
    sums: Cell<(Duration, Duration)>,
}

impl Follower for Spent {
    fn look(&self, _: &Look) {
        self.first.set(self.first.get().or(Some((processor_time(), Instant::now()))));
    }

    fn end(&self) {
        let Some((processor, begin)) = self.first.take() else { return };
        let (used, passed) = self.sums.get();
        self.sums.set((used + processor_time().saturating_sub(processor), passed + begin.elapsed()));
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn show(command: Command, changes: &[f64], spent: &Spent) {
    let (used, passed) = spent.sums.get();
    let part = used.as_secs_f64() / passed.as_secs_f64() * 100.0;
    println!("{command:?}: evidence takes {part:.2} % of one processor in the measured time");
    let count = changes.len() as f64;
    let mean = changes.iter().sum::<f64>() / count;
    let variance = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let error = (variance / count).sqrt();
    let percent = |part: f64| part.exp_m1() * 100.0;
    println!(
        "{command:?}: rate {:+.2} % with evidence, standard error {:.2} %",
        percent(mean),
        percent(error)
    );
}
