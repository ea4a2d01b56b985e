//! Trees with the real shapes of sysfs, one for each transport and kind of stacking.

use super::*;
