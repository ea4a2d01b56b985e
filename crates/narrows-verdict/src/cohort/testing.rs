//! Hosts for tests.

use super::{Found, Host, Link, Model};
use crate::{Code, Confidence, Severity};

/// The address of the one link of [`host`].
pub(super) const ADDRESS: &str = "0000:3b:00.0";

/// A host of the model `R740xd` with one drive of `width` lanes in slot 3.
pub(super) fn host(name: &str, width: u8) -> Host {
    Host {
        host: name.to_owned(),
        model: Model { vendor: None, product: Some("R740xd".to_owned()), board: None },
        bios: Some("2.19.1".to_owned()),
        links: vec![Link {
            address: ADDRESS.to_owned(),
            place: "slot 3".to_owned(),
            device: Some("144d:a80a".to_owned()),
            width: Some(width),
            speed: Some("8 GT/s".to_owned()),
        }],
        ..Host::default()
    }
}

/// A finding on that link.
pub(super) fn found(code: Code, severity: Severity, width: u8) -> Found {
    Found {
        code,
        severity,
        confidence: Confidence::High,
        place: "slot 3".to_owned(),
        subject: ADDRESS.to_owned(),
        hop: Some(format!("link:{ADDRESS}")),
        state: Some(format!("8 GT/s x{width}")),
        summary: format!("x{width} of x8"),
        advice: None,
    }
}
