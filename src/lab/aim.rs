//! Which outcome suits an aim best.
