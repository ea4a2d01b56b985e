//! What `narrows top` costs on a machine of 100 NVMe drives and 400 processes: the processor time of each look, view and screen,
//! and the part of a processor that two of them each second take. The machine is made up, in memory; every number on the screen
//! changes from look to look. What the kernel takes to answer `/proc` comes on top: `narrows top` on a real machine tells.
//!
//! `cargo run --release -p narrows-report --example top_cost -- [LOOKS]`

#![expect(clippy::print_stdout, reason = "it shows a figure")]

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rustix::time::{ClockId, clock_gettime};

use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::tree::Tree;
use narrows_runs::top::screen::Screen;
use narrows_runs::top::{About, report};
use narrows_session::live::Follow;

const DRIVES: u32 = 100;
const PROCESSES: u32 = 400;
const EACH_SECOND: f64 = 2.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let looks: u32 = std::env::args().nth(1).map_or(Ok(200), |looks| looks.parse())?;
    let root = Root::from_tree(tree()).letting_sleep();
    let mut follow = Follow::begin(&root, Machine::read(&root), None).ok_or("the machine has no paths")?;
    println!("hops: {}", follow.lanes().all().len());
    let mut terminal = Terminal::new(TestBackend::new(140, 40))?;
    let screen = Screen::new(true, true);
    let before = spent();
    for look in 0..looks {
        let seen = follow.look();
        let about = About { links: seen.links, asleep: seen.asleep, ..About::default() };
        let mut shown = report(&about, follow.lanes(), &seen.picture);
        for (at, lane) in shown.lanes.iter_mut().enumerate() {
            lane.read.bytes_per_second = Some(BytesPerSec::from_mb(f64::from(look * 7 % 900) + at as f64));
            lane.part_of_ceiling = Some(f64::from(look * 13 % 100) / 100.0);
        }
        terminal.draw(|frame| {
            screen.draw(frame, &shown, "500 ms");
        })?;
    }
    let each = (spent() - before) / looks;
    println!("processor time of a look: {:.2} ms", each.as_secs_f64() * 1e3);
    println!("of a processor at 2 Hz: {:.2} %", each.as_secs_f64() * EACH_SECOND * 100.0);
    Ok(())
}

/// The processor time of this process.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn tree() -> Tree {
    let mut tree = Tree::new();
    let mut disks = String::new();
    for drive in 0..DRIVES {
        let (port, function) =
            (format!("0000:00:{:02x}.{}", 1 + drive / 8, drive % 8), format!("0000:{:02x}:00.0", 16 + drive));
        let place = format!("/sys/devices/pci0000:00/{port}/{function}");
        let port = format!("/sys/devices/pci0000:00/{port}");
        for (dir, class) in [(&port, "0x060400"), (&place, "0x010802")] {
            let address = dir.rsplit('/').next().unwrap_or_default();
            tree.link(&format!("/sys/bus/pci/devices/{address}"), dir);
            for (name, content) in [
                ("class", class),
                ("current_link_speed", "8.0 GT/s PCIe"),
                ("max_link_speed", "8.0 GT/s PCIe"),
                ("current_link_width", "4"),
                ("max_link_width", "4"),
                ("power/runtime_status", "active"),
            ] {
                tree.file(&format!("{dir}/{name}"), content);
            }
        }
        let block = format!("{place}/nvme/nvme{drive}/nvme{drive}n1");
        tree.link(&format!("/sys/class/block/nvme{drive}n1"), &block)
            .link(&format!("/sys/block/nvme{drive}n1"), &block)
            .file(&format!("{block}/size"), "2000000000")
            .file(&format!("{block}/dev"), &format!("259:{drive}"));
        disks.push_str(&format!(" 259 {drive} nvme{drive}n1 9 0 72 4 9 0 72 4 0 8 8 0 0 0 0 0 0\n"));
    }
    tree.file("/proc/diskstats", &disks);
    for process in 1..=PROCESSES {
        let io = "rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 4096\n";
        tree.file(&format!("/proc/{process}/io"), io);
    }
    tree
}
