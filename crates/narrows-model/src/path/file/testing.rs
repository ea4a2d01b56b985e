//! The descriptions that ship, for tests.

/// Name and text of each.
pub(crate) const SYSTEMS: [(&str, &str); 5] = [
    ("pixstor-nvme", include_str!("../../../../../systems/pixstor-nvme.path.toml")),
    ("r720xd-switch-card", include_str!("../../../../../systems/r720xd-switch-card.path.toml")),
    ("ryzen-raid-luks", include_str!("../../../../../systems/ryzen-raid-luks.path.toml")),
    ("s2d-epyc", include_str!("../../../../../systems/s2d-epyc.path.toml")),
    ("x99-slot", include_str!("../../../../../systems/x99-slot.path.toml")),
];
