//! seccomp: system calls that no command needs and that have opened walls before. Denied, not
//! deadly: programs that try one go on without.
//!
//! Set last; from then on nothing can be taken back. Next: `acts.rs`, which tries.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use crate::plan::Isolation;

use super::LaunchError;

/// Denied whatever their arguments are.
const DENIED: [i64; 55] = [
    // Other processes' memory and files.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The kernel's own programs and faults.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Files without a path to them.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Mounts and roots.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    // Namespaces.
    libc::SYS_setns,
    libc::SYS_unshare,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // Other processes' place in memory and on processors.
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_process_mrelease,
];

/// Denied as well where namespaces do not keep their effects in: what changes files without opening
/// them, and what processes share.
const DENIED_BARE: [i64; 32] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_fanotify_mark,
    libc::SYS_pidfd_send_signal,
];

/// The same, where the argument of this number names another process.
const DENIED_TO_OTHERS: [(i64, u8); 7] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
];

/// Old system calls of one architecture.
#[cfg(target_arch = "x86_64")]
const DENIED_HERE: [i64; 4] =
    [libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS__sysctl];
#[cfg(target_arch = "x86_64")]
const DENIED_HERE_BARE: [i64; 6] = [
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: [i64; 0] = [];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE_BARE: [i64; 0] = [];

/// Says of a system call that it is the one of another application binary interface on the same
/// architecture, whose numbers are the same otherwise.
#[cfg(target_arch = "x86_64")]
const OTHER_INTERFACE: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_INTERFACE: Option<i64> = None;

/// `clone` with any of these makes a namespace.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// `ioctl`s that type into a terminal or change how it is read.
const TERMINAL: [u64; 3] = [0x5412, 0x541c, 0x5423]; // TIOCSTI, TIOCLINUX, TIOCSETD

/// Calls whose arguments lie in memory, where no rule sees them. Without them programs use `clone`
/// and `openat`.
const IN_MEMORY: [i64; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Gives a file the rights of its owner or group when somebody runs it: on the machine, not only
/// behind the walls.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// Calls that set a mode, and which argument it is.
const MODES: [(i64, u8); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls whose argument after their flags, these, is the mode of the file that they make.
const OPENS: [(i64, u8); 1] = [(libc::SYS_openat, 2)];

#[cfg(target_arch = "x86_64")]
const MODES_HERE: [(i64, u8); 3] =
    [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(target_arch = "x86_64")]
const OPENS_HERE: [(i64, u8); 1] = [(libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const MODES_HERE: [(i64, u8); 0] = [];
#[cfg(not(target_arch = "x86_64"))]
const OPENS_HERE: [(i64, u8); 0] = [];

/// Flags with which a file is made: `O_CREAT`, and `O_TMPFILE` without its `O_DIRECTORY`. Without
/// them the mode means nothing and may be anything.
const MAKES: [u64; 2] = [0o100, 0o20_000_000];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Denies them from now on.
pub(super) fn restrict(isolation: Isolation) -> Result<(), LaunchError> {
    let failed = |error: BackendError| LaunchError::Seccomp(error.to_string());
    for (rules, error) in [
        (denied(isolation).map_err(failed)?, libc::EPERM),
        (BTreeMap::from(IN_MEMORY.map(|call| (call, Vec::new()))), libc::ENOSYS),
        (sockets(isolation).map_err(failed)?, libc::EAFNOSUPPORT),
    ] {
        let program = compile(rules, error).map_err(failed)?;
        apply_filter(&program).map_err(|error| LaunchError::Seccomp(error.to_string()))?;
    }
    Ok(())
}

fn compile(mut rules: Rules, error: i32) -> Result<BpfProgram, BackendError> {
    if let Some(bit) = OTHER_INTERFACE {
        let others: Rules = rules.iter().map(|(call, on)| (call | bit, on.clone())).collect();
        rules.extend(others);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let deny = SeccompAction::Errno(error.cast_unsigned());
    // A call of another architecture ends the process.
    SeccompFilter::new(rules, SeccompAction::Allow, deny, arch)?.try_into()
}

fn denied(isolation: Isolation) -> Result<Rules, BackendError> {
    let always = DENIED.into_iter().chain(DENIED_HERE);
    let mut rules: Rules = always.map(|call| (call, Vec::new())).collect();
    let namespaces = NAMESPACES.map(|flag| has(0, u64::from(flag.cast_unsigned())));
    rules.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    let terminal = TERMINAL.map(|request| is(1, request));
    rules.insert(libc::SYS_ioctl, terminal.into_iter().collect::<Result<_, _>>()?);
    let nameless = has(4, u64::from(libc::AT_EMPTY_PATH.cast_unsigned()))?;
    rules.insert(libc::SYS_execveat, vec![nameless]);
    // A program may ask which system it runs on, not change it.
    rules.insert(libc::SYS_personality, vec![is_not(0, 0xffff_ffff)?]);
    rules.extend(set_id()?);
    if isolation == Isolation::Landlock {
        rules.extend(bare()?);
    }
    Ok(rules)
}

fn set_id() -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    for (call, mode) in MODES.into_iter().chain(MODES_HERE) {
        rules.insert(call, SET_ID.map(|bit| has(mode, bit)).into_iter().collect::<Result<_, _>>()?);
    }
    for (call, flags) in OPENS.into_iter().chain(OPENS_HERE) {
        let mut denied = Vec::new();
        for (flag, bit) in MAKES.into_iter().flat_map(|flag| SET_ID.map(|bit| (flag, bit))) {
            denied.push(SeccompRule::new(vec![masked(flags, flag)?, masked(flags + 1, bit)?])?);
        }
        rules.insert(call, denied);
    }
    Ok(rules)
}

fn bare() -> Result<Rules, BackendError> {
    let always = DENIED_BARE.into_iter().chain(DENIED_HERE_BARE);
    let mut rules: Rules = always.map(|call| (call, Vec::new())).collect();
    for (call, argument) in DENIED_TO_OTHERS {
        rules.insert(call, vec![is_not(argument, 0)?]);
    }
    // Without a path and without a time it does no more to an open file than writing to it.
    let given = |argument| {
        let given = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
        SeccompRule::new(vec![given?])
    };
    rules.insert(libc::SYS_utimensat, vec![given(1)?, given(2)?]);
    Ok(rules)
}

/// Sockets to other families than Unix ones; where the view of files does not hide Unix sockets of
/// others, those as well.
fn sockets(isolation: Isolation) -> Result<Rules, BackendError> {
    let unix = u64::from(libc::AF_UNIX.cast_unsigned());
    let mut rules = Rules::new();
    match isolation {
        Isolation::Namespaces => {
            rules.insert(libc::SYS_socket, vec![is_not(0, unix)?]);
            rules.insert(libc::SYS_socketpair, vec![is_not(0, unix)?]);
        }
        Isolation::Landlock => {
            rules.insert(libc::SYS_socket, Vec::new());
            // A pair of datagram sockets could be connected to somebody else's afterwards.
            let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| {
                let kind = u64::from(kind.cast_unsigned());
                rule(1, SeccompCmpOp::MaskedEq(0xf), kind)
            });
            let mut pairs = kinds.into_iter().collect::<Result<Vec<_>, _>>()?;
            pairs.push(is_not(0, unix)?);
            rules.insert(libc::SYS_socketpair, pairs);
        }
    }
    Ok(rules)
}

fn is(argument: u8, value: u64) -> Result<SeccompRule, BackendError> {
    rule(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> Result<SeccompRule, BackendError> {
    rule(argument, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, bits: u64) -> Result<SeccompRule, BackendError> {
    rule(argument, SeccompCmpOp::MaskedEq(bits), bits)
}

fn masked(argument: u8, bits: u64) -> Result<SeccompCondition, BackendError> {
    let compare = SeccompCmpOp::MaskedEq(bits);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, bits)
}

/// The kernel takes these arguments as 32 bits, whatever stands above them.
fn rule(argument: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        compare,
        value,
    )?])
}
