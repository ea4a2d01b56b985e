//! Tests of `runner/kernel.rs`.

use crate::runner::kernel::version;

#[test]
fn a_release_is_as_old_as_its_first_two_numbers() {
    assert_eq!(version("6.1.0-50-amd64"), (6, 1));
    assert_eq!(version("6.12.117+deb12-amd64"), (6, 12));
    assert_eq!(version("7.0-rc1"), (7, 0));
    assert!(version("6.1.0-50-amd64") < (6, 6) && version("6.12.117+deb12-amd64") >= (6, 6));
    assert_eq!(version("next"), (0, 0));
}
