//! From a typed target to a place in the machine.

use super::Failure;
use narrows_answer::{read, target_of};
use narrows_base::shell;
use narrows_load::held::{Aim, Held};
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;
use narrows_machine::target::{self, Found};
use narrows_machine::usage;
use narrows_model::path::{Path, Target, build, peer};
use narrows_paste::capture;
use narrows_session::scene::Scene;

/// Finds what was typed.
///
/// # Errors
/// [`Failure`] when nothing is there, or nothing that a storage path leads to.
pub(super) fn resolve(root: &Root, machine: &Machine, typed: &str) -> Result<Target, Failure> {
    if typed.is_empty() {
        return Err(Failure::new("the target is empty").hint(SEE_ALL));
    }
    let found = match &machine.captured {
        None => target::find(root, typed),
        Some(_) => capture::target::find(machine, typed),
    };
    if found.is_err() && gpu_number(typed).is_some() {
        return gpu(machine, typed).map(Target::Pci);
    }
    if let Some(failure) = found.is_err().then(|| without_address(machine, typed)).flatten() {
        return Err(failure);
    }
    let found = found.map_err(|error| {
        let hint = error.hint().unwrap_or_else(|| what_to_type(root, typed).to_owned());
        Failure::new(error.to_string()).hint(hint)
    })?;
    let path = if let Found::File(path) = &found { path.clone() } else { String::new() };
    target_of(machine, found).ok_or_else(|| unmounted(root, &path))
}

/// The path to what was typed.
///
/// # Errors
/// [`Failure`] when nothing is there, or no path leads there.
pub(super) fn path(root: &Root, machine: &Machine, typed: &str) -> Result<Path, Failure> {
    build::path(machine, &resolve(root, machine, typed)?)
        .ok_or_else(|| Failure::new(format!("no storage path leads to `{typed}`")))
}

/// Reads this machine and finds the path to what was typed, which is to be measured.
///
/// # Errors
/// [`Failure`] when there is no such target, or it would never answer.
pub(super) fn scene(typed: &str) -> Result<Scene, Failure> {
    let root = Root::live();
    let machine = read(&root);
    let asked = resolve(&root, &machine, typed)?;
    awake(&root, &machine, &asked)?;
    Scene::of(root, machine, &asked)
        .ok_or_else(|| Failure::new(format!("no storage path leads to `{typed}`")))
}

/// The GPU that was typed.
///
/// # Errors
/// [`Failure`] when the machine has none of that name.
pub(super) fn gpu(machine: &Machine, typed: &str) -> Result<PciAddress, Failure> {
    let there = peer::gpus(machine);
    let typed_one = typed.parse().ok().or_else(|| numbered_gpu(machine, typed));
    typed_one.filter(|address| there.contains(address)).ok_or_else(|| {
        if let Some(failure) = without_address(machine, typed) {
            return failure;
        }
        let names: Vec<String> = there.iter().map(ToString::to_string).collect();
        Failure::new(format!("no GPU of this machine is `{typed}`")).hint(match names.is_empty() {
            true => "no GPU is known here; `lspci -nn` lists those of a machine".to_owned(),
            false => format!("its GPUs are: {}", names.join(", ")),
        })
    })
}

fn gpu_number(typed: &str) -> Option<usize> {
    typed.strip_prefix("GPU")?.parse().ok()
}

/// `GPU0`, as nvidia-smi numbers the GPUs of its maker: in the order of their addresses (nvidia-smi(1), `-i`).
fn numbered_gpu(machine: &Machine, typed: &str) -> Option<PciAddress> {
    const NVIDIA: u16 = 0x10de;
    let number = gpu_number(typed)?;
    let told = machine.affinities.get(typed).and_then(|affinity| affinity.address);
    let is_nvidia = |address: &PciAddress| {
        let id = machine.pci.get(address).and_then(|device| device.id.value());
        id.is_none_or(|id| id.vendor == NVIDIA)
    };
    told.or_else(|| peer::gpus(machine).into_iter().filter(is_nvidia).nth(number))
}

/// Why a GPU or network card that only `nvidia-smi topo -m` names is no target: it tells how both are connected, not which functions
/// they are.
fn without_address(machine: &Machine, typed: &str) -> Option<Failure> {
    let affinity = machine.affinities.get(typed).filter(|affinity| affinity.address.is_none())?;
    let connections = affinity.connections.iter();
    let told: Vec<String> = connections.map(|(other, (how, _))| format!("{other} {how}")).collect();
    let hint =
        "give the output of `sudo lspci -vvv` of the same machine beside it, for links, switches and rates";
    let how = match told.is_empty() {
        true => String::new(),
        false => format!("; nvidia-smi tells how it is connected: {}", told.join(", ")),
    };
    Some(Failure::new(format!("which function `{typed}` is, is not in what was given{how}")).hint(hint))
}

/// Refuses to read a target that lies on a mapping which is suspended: the read would wait until somebody resumes it, and no
/// signal would end that.
///
/// # Errors
/// [`Failure`] with the name of the mapping.
pub(super) fn awake(root: &Root, machine: &Machine, asked: &Target) -> Result<(), Failure> {
    let names: &[String] = match asked {
        Target::Block(name) => std::slice::from_ref(name),
        Target::Mount { index, .. } => machine.mounts.get(*index).map_or(&[], |mount| &mount.devices),
        _ => &[],
    };
    let Some(asleep) = names.iter().find_map(|name| usage::suspended(root, name).into_iter().next()) else {
        return Ok(());
    };
    let mapped = root.text(&format!("/sys/class/block/{asleep}/dm/name")).get().unwrap_or_default();
    Err(Failure::new(format!("{asleep} ({mapped}) is suspended: reading it would wait for ever"))
        .hint(format!("resume it (`dmsetup resume {}`), then start again", shell::word(&mapped))))
}

/// Why no mount holds a path: something that tells of mounts is missing, as in a bare chroot or container.
fn unmounted(root: &Root, path: &str) -> Failure {
    const INSTEAD: &str = "or name the block device instead, such as /dev/sda";
    let missing = |what: &str, how: &str| {
        Failure::new(format!("it is not known which device `{path}` is on: {what}"))
            .hint(format!("{how}, {INSTEAD}"))
    };
    if !root.exists("/proc/self/mountinfo") && root.is_live() {
        return missing("there is no /proc/self/mountinfo", "mount it (`mount -t proc proc /proc`)");
    }
    if !root.exists("/sys/dev/block") && root.is_live() {
        return missing("there is no /sys/dev/block", "mount it (`mount -t sysfs sysfs /sys`)");
    }
    Failure::new(format!(
        "`{path}` is on no file system that /proc/self/mountinfo lists, and on no block device"
    ))
    .hint("name the block device instead, such as /dev/sda")
}

/// Makes sure, before something is written at a directory or beside a file, that what was typed leads there by a way that
/// others cannot change.
///
/// # Errors
/// [`Failure`] when others can, or it leads elsewhere by now.
pub(super) fn check_way(machine: &Machine, typed: &str, asked: &Target) -> Result<(), Failure> {
    let Target::Mount { path, .. } = asked else { return Ok(()) };
    // The source of a mount is no path; what it is mounted on comes from the kernel.
    if machine.mounts.iter().any(|mount| mount.source == typed && mount.point == *path) {
        return Ok(());
    }
    let held = |path: &str| {
        Held::beside(std::path::Path::new(path), Aim::Write).map_err(|error| {
            Failure::new(format!("nothing is written at `{path}`: {error}")).hints(error.hint())
        })
    };
    let is_same = held(typed)?.is(&held(path)?);
    is_same.ok().filter(|is_same| *is_same).map(drop).ok_or_else(|| {
        Failure::new(format!("`{typed}` leads elsewhere than a moment ago")).hint("see who changes it")
    })
}

/// The kernel name of the block device that was typed. `instead` says what to name when it is something else.
///
/// # Errors
/// [`Failure`] when nothing is there, or no block device.
pub(super) fn block_device(root: &Root, typed: &str, instead: &'static str) -> Result<String, Failure> {
    match target::find(root, typed) {
        Ok(Found::Block(name)) => Ok(name),
        Ok(_) => Err(Failure::new(format!("`{typed}` is not a block device")).hint(instead)),
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| SEE_ALL.to_owned());
            Err(Failure::new(error.to_string()).hint(hint))
        }
    }
}

const SEE_ALL: &str = "`narrows` without a target shows every storage path of the machine";

fn what_to_type(root: &Root, typed: &str) -> &'static str {
    let is_relative = !typed.starts_with('/') && (typed.starts_with('.') || typed.contains('/'));
    if is_relative && !root.is_live() {
        return "in a recorded machine only a whole path such as /home or /dev/sda can be found";
    }
    SEE_ALL
}
