//! The errors of Advanced Error Reporting, by their bits.

/// A bit of a status register, the kernel's name of the error, and the name that older kernels print.
pub(super) type AerBit = (u32, &'static str, &'static str);

/// Bits of the Correctable Error Status register, by the kernel's names (PCI Express Base Specification 5.0, section
/// 7.8.4.5; `aer_correctable_error_string`).
pub(super) const CORRECTABLE: &[AerBit] = &[
    (0, "RxErr", "Receiver Error"),
    (6, "BadTLP", "Bad TLP"),
    (7, "BadDLLP", "Bad DLLP"),
    (8, "Rollover", "RELAY_NUM Rollover"),
    (12, "Timeout", "Replay Timer Timeout"),
    (13, "NonFatalErr", "Advisory Non-Fatal"),
    (14, "CorrIntErr", "Corrected Internal Error"),
    (15, "HeaderOF", "Header Log Overflow"),
];

/// Bits of the Uncorrectable Error Status register (section 7.8.4.2; `aer_uncorrectable_error_string`).
pub(super) const UNCORRECTABLE: &[AerBit] = &[
    (0, "Undefined", "Undefined"),
    (4, "DLP", "Data Link Protocol"),
    (5, "SDES", "Surprise Down Error"),
    (12, "TLP", "Poisoned TLP"),
    (13, "FCP", "Flow Control Protocol"),
    (14, "CmpltTO", "Completion Timeout"),
    (15, "CmpltAbrt", "Completer Abort"),
    (16, "UnxCmplt", "Unexpected Completion"),
    (17, "RxOF", "Receiver Overflow"),
    (18, "MalfTLP", "Malformed TLP"),
    (19, "ECRC", "ECRC"),
    (20, "UnsupReq", "Unsupported Request"),
    (21, "ACSViol", "ACS Violation"),
    (22, "UncorrIntErr", "Uncorrectable Internal Error"),
    (23, "BlockedTLP", "MC Blocked TLP"),
    (24, "AtomicOpBlocked", "AtomicOp Egress Blocked"),
    (25, "TLPBlockedErr", "TLP Prefix Blocked Error"),
    (26, "PoisonTLPBlocked", "Poisoned TLP Egress Blocked"),
];
