//! `/proc/cpuinfo`, which every architecture writes in its own way.

/// What `/proc/cpuinfo` says of the first processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Its name, as far as there is one.
    pub model: Option<String>,
    /// Family, model and stepping (x86).
    pub signature: Option<(u32, u32, u32)>,
    /// The flags that matter here, in the order of the kernel.
    pub flags: Vec<String>,
}

/// The flags that matter here: what ciphers and checksums use, what the clock is worth, and whether a hypervisor is
/// below. The names are those of the kernel (`arch/x86/include/asm/cpufeatures.h`, `arch/arm64/kernel/cpuinfo.c`).
const FLAGS: &[&str] = &[
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "ssse3",
    "sse4_2",
    "avx",
    "avx2",
    "avx512f",
    "sha_ni",
    "hypervisor",
    "constant_tsc",
    "nonstop_tsc",
    "tsc_known_freq",
    "asimd",
    "pmull",
    "sha2",
    "crc32",
    "sve",
];

/// Reads the first processor of `/proc/cpuinfo`.
pub fn parse_cpuinfo(text: &str) -> CpuInfo {
    let field = |name: &str| {
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs
            .map(|(key, value)| (key.trim(), value.trim()))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let number = |name: &str| field(name)?.parse::<u32>().ok();
    let flags = field("flags").or_else(|| field("Features")).unwrap_or_default();
    CpuInfo {
        model: model(field),
        signature: number("cpu family")
            .and_then(|family| Some((family, number("model")?, number("stepping").unwrap_or_default()))),
        flags: flags.split_whitespace().filter(|flag| FLAGS.contains(flag)).map(str::to_owned).collect(),
    }
}

/// The name: `model name` (x86, 32-bit ARM), `Model Name` (LoongArch), `cpu` (POWER), `cpu model` (MIPS), `uarch`
/// (RISC-V), or the numbers of an ARM core.
fn model<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let named = ["model name", "Model Name", "cpu model", "cpu", "uarch"];
    let name = named.iter().find_map(|name| field(name)).filter(|name| !name.is_empty());
    let numbers =
        || Some(format!("ARM implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
    name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" ")).or_else(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_x86_processor_has_a_name_and_a_signature() {
        let info = parse_cpuinfo(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\n\
             model name\t: Intel(R) Core(TM) i7-5820K CPU @ 3.30GHz\nstepping\t: 2\n\
             flags\t\t: fpu sse4_2 aes avx constant_tsc nonstop_tsc avx2\n\nprocessor\t: 1\nmodel name\t: other\n",
        );
        assert_eq!(info.model.as_deref(), Some("Intel(R) Core(TM) i7-5820K CPU @ 3.30GHz"));
        assert_eq!(info.signature, Some((6, 63, 2)));
        assert_eq!(info.flags, ["sse4_2", "aes", "avx", "constant_tsc", "nonstop_tsc", "avx2"]);
    }

    #[test]
    fn an_arm_processor_is_named_by_its_numbers() {
        let info = parse_cpuinfo(
            "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics\n\
             CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
        );
        assert_eq!(info.model.as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!(info.signature, None);
        assert_eq!(info.flags, ["asimd", "aes", "pmull", "sha2", "crc32"]);
    }

    #[test]
    fn other_architectures_are_named_as_they_name_themselves() {
        let power = parse_cpuinfo("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800MHz\n");
        assert_eq!(power.model.as_deref(), Some("POWER9, altivec supported"));
        let riscv =
            parse_cpuinfo("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n");
        assert_eq!(riscv.model.as_deref(), Some("sifive,u74-mc"));
        assert_eq!(parse_cpuinfo("").model, None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", number in "[0-9a-z-]{0,20}") {
            let _ = parse_cpuinfo(&text);
            let _ = parse_cpuinfo(&format!("cpu family : {number}\nmodel : {number}\nflags:{text}"));
        }
    }
}
