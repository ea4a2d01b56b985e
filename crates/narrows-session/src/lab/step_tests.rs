//! Every command line, written out: a change of one is seen in the diff.

use super::*;
use crate::testing::names;

fn shown(step: Step) -> String {
    let names = Names { scratch: Some("/srv/it's here".into()), ..names() };
    let lines = |calls: Vec<Call>| calls.iter().map(|call| format!("  {call}\n")).collect::<String>();
    let (build, undo) = (step.build(&names), step.undo(&names));
    let as_tool = |calls: Vec<Call>, shown: Option<Call>| lines(calls.into_iter().chain(shown).collect());
    let (build, undo) = (as_tool(build, step.shown(&names)), as_tool(undo, step.undo_shown(&names)));
    format!("{step:?}\n{build} undone by\n{undo}")
}

#[test]
fn command_lines() {
    let encryptions = [Encryption::Luks2, Encryption::Luks2Tuned, Encryption::VeraCrypt];
    let mut steps = vec![Step::Directory, Step::File { index: 1, bytes: 1 << 30 }, Step::Loop { index: 1 }];
    let extent = Extent { start: 1 << 20, bytes: 512 << 20 };
    steps.extend([Step::Slice { index: 1, extent }, Step::Load { index: 0 }]);
    let levels = [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5];
    steps.extend(levels.map(|level| Step::Array { level }));
    steps.extend([Step::Physical { index: 1 }, Step::Group]);
    steps.extend([true, false].map(|striped| Step::Volume { striped }));
    steps
        .extend(encryptions.map(|encryption| Step::Header { on: On::Array, encryption }).into_iter().take(2));
    steps.extend(encryptions.map(|encryption| Step::Mapping { on: On::Volume, encryption }));
    steps.push(Step::Zero { sectors: 69_632 });
    steps.extend(encryptions.map(|encryption| Step::Mapping { on: On::Zero, encryption }));
    steps.extend([Step::PoolNodes, Step::Pool { mirror: true }, Step::Pool { mirror: false }]);
    steps.push(Step::Zvol { bytes: 1 << 30 });
    steps.extend([Step::TrueCryptHeader { on: On::Array }, Step::TrueCryptMapping { on: On::Array }]);
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        steps.extend([Step::FileSystem { on: On::Mapping, kind }, Step::Mount { on: On::Device(0), kind }]);
    }
    steps.push(Step::MountPoint);
    insta::assert_snapshot!(steps.into_iter().map(shown).collect::<String>());
}

#[test]
fn no_argument_that_is_a_path_can_be_an_option() {
    let names = Names { scratch: Some("/-rf".into()), ..names() };
    for step in [Step::Directory, Step::File { index: 0, bytes: 1 }, Step::Loop { index: 0 }] {
        for call in step.build(&names).into_iter().chain(step.undo(&names)) {
            let last = call.arguments.last().cloned().unwrap_or_default();
            assert!(last.starts_with('/'), "{call}");
        }
    }
}

#[test]
fn no_tool_ever_gets_a_whole_device() {
    let names = names();
    let on = On::Device(0);
    let (encryption, kind) = (Encryption::Luks2, FileSystem::Ext4);
    let mut steps = vec![Step::Array { level: Level::Raid1 }, Step::Group];
    steps.extend([Step::Physical { index: 0 }, Step::PoolNodes, Step::Pool { mirror: true }]);
    steps.extend([
        Step::Header { on, encryption },
        Step::Mapping { on, encryption },
        Step::TrueCryptHeader { on },
    ]);
    steps.extend([Step::FileSystem { on, kind }, Step::Mount { on, kind }]);
    for step in steps {
        assert!(step.touches().is_some(), "{step:?}");
        for call in step.build(&names).into_iter().chain(step.undo(&names)) {
            let words = call.arguments.iter().flat_map(|word| word.split(['=', '^', '$']));
            let disks = ["/dev/nvme0n1", "/dev/sdb"];
            assert!(words.into_iter().all(|word| !disks.contains(&word)), "{call}");
        }
    }
}
