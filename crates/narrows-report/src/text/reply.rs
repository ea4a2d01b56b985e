//! A short answer to post where somebody asked: the sentence, the lines that show it, and what to run next. In Markdown for a
//! forum, or as plain text for a mail.

use super::results::sentences;
use crate::names::Names;
use crate::sanitize::inert;
use crate::view::CheckReport;
use narrows_base::lists::distinct;
use narrows_base::shell;
use narrows_model::path::HopKind;
use narrows_paste::capture::statements;
use narrows_paste::results::Tool;
use narrows_verdict::results::Trust;
use narrows_verdict::{Code, Finding, Severity};

/// So many findings, and lines that show one, are told.
const MOST: usize = 3;

/// Longer lines are not quoted.
const LONGEST_QUOTE: usize = 160;

/// The source of what follows from the rule and from no text.
const RULE: &str = "the rule itself";

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Markdown, as forums show it.
    Markdown,
    /// Text without marks.
    Mail,
}

/// The texts that were pasted, by name and cleaned, to quote from.
#[derive(Debug, Clone, Default)]
pub struct Pasted(pub Vec<(String, String)>);

impl Pasted {
    /// Whether anything stands in them.
    pub fn has_words(&self) -> bool {
        self.0.iter().any(|(_, text)| !text.trim().is_empty())
    }

    /// The line at `a.txt:12` that shows a value, of several that a page joined the last; `None` where it cannot be shown.
    fn line(&self, source: &str, value: &str) -> Option<String> {
        let (name, number) = source.rsplit_once(':')?;
        let number = number.parse::<usize>().ok()?.checked_sub(1)?;
        let (_, text) = self.0.iter().find(|(other, _)| other == name)?;
        let line = text.lines().nth(number)?;
        let close = |text: &str| text.split_whitespace().collect::<String>();
        let mut statements = statements(line);
        let shows = |statement: &&str| close(statement).contains(&close(value));
        let line = if statements.clone().count() > 1 { statements.rfind(shows)? } else { line };
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        (!line.is_empty() && line.len() <= LONGEST_QUOTE && inert(&line) == line).then_some(line)
    }

    /// How often one of the words, parted by `|`, stands in them, in whatever case, as words or the beginnings of some.
    fn speaks_of(&self, words: &str) -> usize {
        let count = |text: &str| {
            let text = text.to_ascii_lowercase();
            let all = words.split('|').flat_map(|word| text.match_indices(word));
            all.filter(|(at, _)| !text.get(..*at).unwrap_or_default().ends_with(char::is_alphanumeric))
                .count()
        };
        self.0.iter().map(|(_, text)| count(text)).sum()
    }
}

/// The answer to what was pasted. Its lines are quoted as they stand where nothing in them identifies the owner; names that do are
/// left out.
pub fn render(report: &CheckReport, pasted: &Pasted, form: Form) -> String {
    let names = Names::of(report);
    let shown = |mut text: String| {
        names.hide(&mut [&mut text]);
        text
    };
    let told: Vec<&Finding> = told(report);
    let said = sentences(&report.results).into_iter().map(|(_, sentence)| sentence).take(MOST);
    let causes = told.iter().map(|finding| finding.summary.clone());
    let path = report.paths.first().map(|path| path.sentence.clone());
    let mut heads = said.chain(causes.clone()).chain(path.filter(|_| told.is_empty()));
    let head = heads.next().unwrap_or_else(|| "What was posted shows no storage path.".to_owned());
    let measured = measured(report, pasted).into_iter().filter(|line| shown(line.clone()) == *line);
    let mut out = vec![form.strong(&shown(head.clone())), form.block(measured.take(MOST))];
    let others = heads.filter(|sentence| !causes.clone().any(|cause| cause == *sentence));
    out.extend(others.map(|sentence| form.words(&shown(sentence))));
    for finding in &told {
        if finding.summary != head {
            out.push(form.words(&shown(finding.summary.clone())));
        }
        out.push(evidence(finding, pasted, form, &shown));
        if let Some(advice) = finding.advice.first() {
            let gain = advice.gain_bytes_per_second.map(|gain| format!(" (+{gain})")).unwrap_or_default();
            out.push(form.words(&format!("What to do: {}{gain}", shown(advice.action.clone()))));
        }
    }
    let asked = asked(report, pasted);
    out.extend(asked.map(|(why, command)| format!("{why}\n\n{}", form.block([shown(command)]))));
    out.retain(|part| !part.is_empty());
    out.join("\n\n") + "\n"
}

/// The findings that are told: what there is to be done about, each once.
fn told(report: &CheckReport) -> Vec<&Finding> {
    let of_results =
        report.results.iter().flat_map(|one| one.verdict.findings.iter().chain(&one.verdict.of_path));
    let all = report.findings.iter().chain(of_results);
    let mut told: Vec<&Finding> = Vec::new();
    for finding in all.filter(|finding| finding.severity != Severity::Info) {
        let is_same = |other: &&Finding| {
            let is_about_the_same = finding.severity != Severity::Fault || other.subject == finding.subject;
            (other.code, &other.hop) == (finding.code, &finding.hop) && is_about_the_same
        };
        if !told.iter().any(is_same) {
            told.push(finding);
        }
    }
    told.sort_by_key(|finding| finding.severity);
    told.truncate(MOST);
    told
}

/// The lines of what was measured.
fn measured(report: &CheckReport, pasted: &Pasted) -> Vec<String> {
    let all = report.results.iter().map(|one| &one.result);
    let places =
        all.flat_map(|result| result.measurements.iter().map(|one| format!("{}:{}", result.file, one.line)));
    distinct(places.filter_map(|place| pasted.line(&place, "")))
}

/// The lines that show a finding, where they can be quoted, and what else is known.
fn evidence(finding: &Finding, pasted: &Pasted, form: Form, shown: &impl Fn(String) -> String) -> String {
    let lines = finding.evidence.iter().filter_map(|one| pasted.line(&one.source, &one.value));
    let lines: Vec<String> = distinct(lines.filter(|line| shown(line.clone()) == *line));
    if !lines.is_empty() {
        return form.block(lines.into_iter().take(MOST));
    }
    let facts = finding.evidence.iter().filter(|one| one.source != RULE).take(MOST);
    let facts = facts.map(|one| shown(format!("{}: {}", one.fact, one.value)));
    facts.map(|fact| form.words(&format!("- {fact}"))).collect::<Vec<_>>().join("\n")
}

impl Form {
    fn strong(self, text: &str) -> String {
        match self {
            Self::Markdown => format!("**{}**", self.words(text)),
            Self::Mail => self.words(text),
        }
    }

    fn words(self, text: &str) -> String {
        match self {
            Self::Markdown => marked(text),
            Self::Mail => inert(text),
        }
    }

    /// Lines as they stand.
    fn block(self, lines: impl IntoIterator<Item = String>) -> String {
        lines.into_iter().map(|line| format!("    {}", inert(&line))).collect::<Vec<_>>().join("\n")
    }
}

/// Text that Markdown shows as it stands: what would begin a link, a picture, HTML or emphasis is escaped, and what stands between
/// backquotes is code.
fn marked(text: &str) -> String {
    let text = inert(text);
    let parts: Vec<&str> = text.split('`').collect();
    let has_pairs = parts.len() % 2 == 1;
    let parts = parts.iter().enumerate().map(|(number, part)| match number % 2 == 1 && has_pairs {
        true => (*part).to_owned(),
        false => escaped(part),
    });
    parts.collect::<Vec<_>>().join(if has_pairs { "`" } else { "\\`" })
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // Within a word an underscore is no mark (CommonMark 0.31, section 6.2).
        let is_within = before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        if matches!(c, '\\' | '*' | '[' | ']' | '<' | '|' | '~' | '&') || c == '_' && !is_within {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// The one command that would settle what is open, and why; `None` where nothing is, or where no command of theirs could.
fn asked(report: &CheckReport, pasted: &Pasted) -> Option<(&'static str, String)> {
    let is_failing = report.findings.iter().any(|finding| finding.code == Code::DeviceErrors);
    let mut kinds = report.machine.inputs.iter().flat_map(|input| &input.kinds);
    let has_smart = kinds.any(|kind| kind.starts_with("smartctl"));
    let drive = device(report);
    if let Some(name) = drive.filter(|_| is_failing && !has_smart) {
        let why = "To see how the drive is, please run this, and post what it prints:";
        return Some((why, format!("sudo smartctl -x /dev/{name}")));
    }
    let of_windows = [Tool::Crystaldiskmark, Tool::Diskspd, Tool::Winsat, Tool::Hdtune, Tool::Asssd];
    if report.results.iter().any(|one| of_windows.contains(&one.result.tool)) {
        let why = "To see what was measured, please run this in PowerShell, and post what it prints:";
        return report.paths.is_empty().then(|| (why, WINDOWS_DISKS.to_owned()));
    }
    let lacking = report.findings.iter().filter(|finding| finding.code == Code::PartialInput);
    if let Some(command) = lacking.flat_map(|it| &it.advice).find_map(|advice| quoted(&advice.action)) {
        return Some(("What is missing to be sure: please run this, and post what it prints:", command));
    }
    let measure = "To have a rate that lasts, please run this, and post what it prints:";
    let is_trusted = report.results.iter().any(|one| one.verdict.trust == Trust::Yes);
    if let Some(name) = drive {
        return reading(name).filter(|_| !is_trusted).map(|command| (measure, command));
    }
    // What carries a virtual disk is the host's; how long it takes can be seen.
    let systems = [
        ("freebsd|truenas core|pfsense", "dmesg | grep -E '^(nvme|nda|nvd|ada|da)[0-9]'; pciconf -lvc"),
        (VIRTUAL, "iostat -x 10 30"),
        ("/dev/hda|/dev/hdb|/dev/hdc", "sudo hdparm -i /dev/hdX"),
    ];
    let own = systems.into_iter().find(|(words, _)| pasted.speaks_of(words) > 0);
    let (_, what) =
        own.unwrap_or(("", "lsblk -o NAME,MODEL,TRAN,SIZE,FSTYPE,MOUNTPOINTS; sudo lspci -nnvvv"));
    let why = "To see what the result was measured on, please run this, and post what it prints:";
    (!report.results.is_empty() && report.paths.is_empty()).then(|| (why, what.to_owned()))
}

/// The first command in backquotes that shows something.
fn quoted(text: &str) -> Option<String> {
    let command = text.split('`').nth(1)?;
    (!command.is_empty() && !command.starts_with("narrows")).then(|| command.to_owned())
}

/// The kernel name of the first drive.
fn device(report: &CheckReport) -> Option<&str> {
    let mut hops = report.paths.iter().flat_map(|path| &path.hops);
    let name = hops.find(|hop| hop.kind == HopKind::Device)?.id.split_once(':')?.1;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric());
    is_name.then_some(name)
}

/// A run of fio that reads the drive past the page cache, as long as it takes to see what lasts.
fn reading(name: &str) -> Option<String> {
    // What is no name of Linux is no drive that libaio reads.
    let kinds = ["sd", "nvme", "vd", "xvd", "mmcblk", "md", "hd"];
    kinds.iter().any(|kind| name.starts_with(kind)).then(|| {
        format!(
            "sudo fio --name=read --filename=/dev/{} --readonly --rw=read --bs=1M --iodepth=8 --ioengine=libaio \
             --direct=1 --runtime=60 --time_based",
            shell::word(name)
        )
    })
}

/// What shows the drives of Windows.
const WINDOWS_DISKS: &str = "Get-PhysicalDisk | Format-List FriendlyName, BusType, MediaType, Size";

/// A system by the words of those who have it, and what to ask for there: of its drives, and of its network.
struct AskedSystem {
    words: &'static str,
    storage: &'static [&'static str],
    network: &'static [&'static str],
}

/// The first that fits decides whose commands are asked for; the last is Linux.
const SYSTEMS: [AskedSystem; 4] = [
    AskedSystem {
        words: "windows|crystaldiskmark|diskspd|powershell|storage spaces|vioscsi",
        storage: &[WINDOWS_DISKS],
        network: &["Get-NetAdapter | Format-List Name, InterfaceDescription, LinkSpeed"],
    },
    AskedSystem {
        words: "macos|macbook|mac mini|mac pro|imac|hackintosh|opencore|\
                osx|os x|kext|diskutil|/dev/disk|/dev/rdisk",
        storage: &["system_profiler SPNVMeDataType SPThunderboltDataType SPUSBDataType"],
        network: &["system_profiler SPEthernetDataType SPAirPortDataType"],
    },
    AskedSystem {
        words: "freebsd|truenas core|pfsense|opnsense",
        storage: &[
            "dmesg | grep -E '^(nvme|nda|nvd|ada|da|mps)[0-9]'",
            "sudo pciconf -lvc",
            "zpool status -v",
        ],
        network: &["ifconfig -v"],
    },
    AskedSystem {
        words: "",
        storage: &["lsblk -o NAME,MODEL,TRAN,SIZE,FSTYPE,MOUNTPOINTS"],
        network: &["sudo ethtool INTERFACE; ip -s link"],
    },
];

/// Words of a question about a network, and of one about drives: whichever are more.
const NETWORK: &str = "10gbe|ethernet|infiniband|wifi|wi-fi|wlan|mbit|gbit|gbps|mbps|iperf|speedtest|\
    librespeed|lan |router|ethtool|switch port|nic |vlan";
const DRIVES: &str = "nvme|ssd|hdd|hard disk|hard drive|disk|drive|raid|zfs|luks|sata|usb stick|fio|\
    hdparm|dd ";

/// What a virtual disk is called, or where.
const VIRTUAL: &str = "/dev/xvd|/dev/vd|vioscsi|virtio|vbox|vmware virtual|qemu harddisk";

/// The same of Linux: all that fit, as many as are asked for at once.
const TOPICS: [(&str, &str); 9] = [
    ("nvme|pcie|pci-e|m.2|bifurcation|hba|lanes", "sudo lspci -nnvvv"),
    ("raid|mdadm|md0", "cat /proc/mdstat; sudo mdadm --detail /dev/md*"),
    ("zfs|zpool|truenas", "zpool status -v; zpool iostat -v 5 3"),
    ("luks|dm-crypt|encrypt", "lscpu; cryptsetup benchmark"),
    ("usb|thunderbolt|enclosure", "lsusb -t; sudo dmesg | grep -iE 'usb|uas'"),
    (
        "nfs|smb|samba|cifs|iscsi|10gbe|ethernet|infiniband|nas",
        "iperf3 -c SERVER -P 4 -t 30; mount | grep -E 'nfs|cifs'; sudo ethtool INTERFACE",
    ),
    ("numa|socket|epyc|xeon|cpu1|cpu2", "lscpu; numactl -H"),
    (
        "sata|ssd|hdd|hard disk|hard drive",
        "sudo smartctl -x /dev/sdX; sudo dmesg | grep -E 'ata[0-9]|sd[a-z]'",
    ),
    (
        "proxmox|virtual machine|virtio|qemu|kvm|esxi|hyper-v",
        "lsblk -o NAME,MODEL,TRAN,SIZE,FSTYPE,MOUNTPOINTS, in the guest and on its host",
    ),
];

/// Whether a text speaks of anything of which there is something to ask.
pub fn speaks_of_storage(text: &str) -> bool {
    let pasted = Pasted(vec![(String::new(), text.to_owned())]);
    TOPICS.iter().any(|(words, _)| pasted.speaks_of(words) > 0)
}

/// What to ask for where a text tells of no machine and no result. A command whose output is there, or of which the text tells, is
/// not asked for again.
pub fn ask(pasted: &Pasted, form: Form) -> String {
    /// More commands nobody runs.
    const COMMANDS: usize = 3;
    let [systems @ .., linux] = &SYSTEMS;
    let of_words = systems.iter().find(|one| pasted.speaks_of(one.words) > 0);
    let is_network = pasted.speaks_of(NETWORK) > pasted.speaks_of(DRIVES);
    let own = of_words.unwrap_or(linux);
    let between = "iperf3 -c SERVER -P 4 -t 30, with iperf3 -s on SERVER";
    let mut commands = if is_network { [&[between][..], own.network].concat() } else { own.storage.to_vec() };
    if of_words.is_none() && !is_network {
        let mut topics = TOPICS.map(|(words, command)| (pasted.speaks_of(words), command));
        topics.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        commands.extend(topics.into_iter().filter(|(count, _)| *count > 0).map(|(_, command)| command));
    }
    if pasted.speaks_of(VIRTUAL) > 0 {
        commands.push(
            "the log of the host that the guest runs on, and what its disks do meanwhile (iostat -x 10 30)",
        );
    }
    commands.retain(|command| {
        let program = command.trim_start_matches("sudo ").split(' ').next().unwrap_or_default();
        pasted.speaks_of(program) == 0 || matches!(program, "the" | "dmesg" | "cat")
    });
    commands.truncate(COMMANDS);
    let measured =
        "post the command that you measured with, and all that it printed, from its first line to its last.";
    let nothing = "Nothing that narrows reads in this text tells yet where the time goes.";
    let mut parts = vec![form.strong(nothing)];
    if commands.is_empty() {
        parts.push(format!("Please {measured}"));
    } else {
        parts.push("Please run these on the machine that is slow, and post what they print:".to_owned());
        parts.push(form.block(commands.into_iter().map(str::to_owned)));
        parts.push(format!("And {measured}"));
    }
    parts.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_paste::capture::Text;

    #[test]
    fn foreign_text_makes_no_link_picture_or_html() {
        assert_eq!(marked("![x](http://a) <b> `c`"), r"!\[x\](http://a) \<b> `c`");
        assert_eq!(marked("a ` b"), r"a \` b");
        assert_eq!(marked("a\nb\u{1b}[1m"), inert("a\nb\u{1b}[1m").replace('\\', "\\\\").replace('[', "\\["));
    }

    #[test]
    fn names_and_code_have_no_stray_escapes() {
        assert_eq!(marked("O_DIRECT of PCIEX16_2: `a_b*c` _now_"), r"O_DIRECT of PCIEX16_2: `a_b*c` \_now\_");
    }

    #[test]
    fn a_command_is_asked_for_and_none_of_ours() {
        assert_eq!(quoted("Run `sudo lspci -vvv` there, and").as_deref(), Some("sudo lspci -vvv"));
        assert_eq!(quoted("`narrows x` does"), None);
        assert_eq!(quoted("nothing"), None);
    }

    #[test]
    fn a_line_is_quoted_where_it_stands() {
        let pasted = Pasted(vec![("a.txt".to_owned(), "one\n  two\u{1b}\n\tLnkSta: x1\n".to_owned())]);
        assert_eq!(pasted.line("a.txt:3", "").as_deref(), Some("LnkSta: x1"));
        for source in ["a.txt:2", "a.txt:4", "a.txt:0", "a.txt", "b.txt:1", RULE, ""] {
            assert_eq!(pasted.line(source, ""), None, "{source}");
        }
        let joined = Text::new("a.txt", b"LnkCap: Speed 8GT/s, Width x4 LnkSta: Speed 8GT/s, Width x1");
        let pasted = Pasted(vec![("a.txt".to_owned(), joined.body().to_owned())]);
        assert_eq!(pasted.line("a.txt:1", "8 GT/s").as_deref(), Some("LnkSta: Speed 8GT/s, Width x1"));
        assert_eq!(pasted.line("a.txt:1", "x8"), None);
    }

    #[test]
    fn prose_is_asked_for_what_it_speaks_of() {
        let of = |text: &str| ask(&Pasted(vec![("a".to_owned(), text.to_owned())]), Form::Mail);
        assert!(
            of("My NVMe drive behind LUKS is slow")
                .contains("    sudo lspci -nnvvv\n    lscpu; cryptsetup benchmark\n")
        );
        let windows = of("Storage Spaces Direct on Windows Server, NVMe");
        assert!(windows.contains("Get-PhysicalDisk") && !windows.contains("lspci"), "{windows}");
        assert!(of("it is slow").contains("lsblk") && !of("furnas").contains("iperf3"));
    }

    #[test]
    fn a_network_and_each_system_have_their_own_commands_and_none_that_was_run() {
        let of = |text: &str| ask(&Pasted(vec![("a".to_owned(), text.to_owned())]), Form::Mail);
        let network = of("Both NUCs show 100 Mbit on ethernet, the switch port is gigabit");
        assert!(
            network.contains("ethtool") && network.contains("iperf3") && !network.contains("lsblk"),
            "{network}"
        );
        let mac = of("My Hackintosh with an NVMe drive writes slowly");
        assert!(mac.contains("system_profiler SPNVMe") && !mac.contains("lspci"), "{mac}");
        let there = of("system_profiler of my macbook says USB 2.0 for the drive");
        assert!(
            !there.contains("Please run these") && there.contains("the command that you measured with"),
            "{there}"
        );
        assert!(of("vioscsi resets under load on Windows").contains("log of the host"));
    }
}
