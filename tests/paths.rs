#![expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]
mod support;
use narrows::path::{Target, build};
#[test]
fn dump() {
    for name in [
        "s3-x99-before",
        "s3-x99-after",
        "healthy-desktop",
        "switch-card",
        "two-socket",
        "laptop-luks",
        "nas-raid6",
        "usb-480",
        "nvme-tcp",
        "nfs-client",
    ] {
        let machine =
            narrows::machine::Machine::read(&narrows::machine::root::Root::from_tree(support::tree(name)));
        println!("##### {name}");
        for path in build::all(&machine) {
            println!("== {}", path.target);
            for hop in &path.hops {
                println!(
                    "  {}{} | {} | {:.3}/{:.3} | {:?}",
                    "  ".repeat(hop.depth),
                    hop.id,
                    hop.name,
                    hop.traffic.read,
                    hop.traffic.write,
                    hop.shared_with
                );
            }
        }
    }
    let _ = Target::Nic(String::new());
}
