//! Asks whether two tasks share one table of open files: `kcmp(2)` with `KCMP_FILES` (kernel
//! `include/uapi/linux/kcmp.h`).
#![expect(unsafe_code, reason = "a system call that no library wraps")]

use nix::libc;

/// `KCMP_FILES` of `enum kcmp_type`.
const KCMP_FILES: libc::c_long = 2;

/// Whether both have the same table; `false` when they have not, or when the kernel does not tell.
pub(crate) fn same_files(one: u32, other: u32) -> bool {
    if one == other {
        return one != 0;
    }
    let (Ok(one), Ok(other)) = (libc::pid_t::try_from(one), libc::pid_t::try_from(other)) else {
        return false;
    };
    // SAFETY: for this type the kernel takes two process numbers and ignores the last two arguments; it is given no
    // pointer. Process 0 does not exist and is answered with an error.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) };
    order == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_their_files_until_one_no_longer_does() {
        let own = std::process::id();
        assert!(!same_files(own, 0) && !same_files(0, 0));
        let (shared, alone) = std::thread::spawn(move || {
            let thread = nix::unistd::gettid().as_raw().unsigned_abs();
            let shared = same_files(own, thread);
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).expect("a table of its own");
            (shared, same_files(own, thread))
        })
        .join()
        .expect("ends");
        // A kernel without `kcmp` never says yes.
        assert!(!alone);
        assert!(shared || !same_files(own, own));
    }
}
