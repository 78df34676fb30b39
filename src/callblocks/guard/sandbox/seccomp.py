"""The seccomp filter of system calls, as the kernel reads it: 8-byte instructions of classic BPF.

Layout of the program
    architecture    another one (32 bit) kills the process: its numbers mean other calls
    x32             kills the process, for the same reason
    number > NEWEST ENOSYS: nobody has judged these calls; programs fall back to older ones
    one rule per call of the table:

        is it keyctl?   no: the next rule.   yes: EPERM
        is it clone?    no: the next rule.   yes: new namespaces: EPERM; else allowed

    anything else   allowed

Invariants
- Every rule ends in a return, so no rule falls through into the next one.
- Jumps are relative and at most 255 instructions; a rule is far shorter.
- An argument test reads the lower 32 bits, as the kernel does for each argument tested here.
  Pointers cannot be tested: the memory behind them may change after the check.

Why a list of refused calls and not of permitted ones: jobs are arbitrary programs, and a missing
permission would break them in ways that nobody can diagnose. The file system, the network and other
processes are held by namespaces or Landlock; this filter removes attack surface. `clone3` and
`openat2` pass their flags in memory, where a filter cannot look, so they must not exist: callers
fall back to `clone` and `openat`, which can be tested.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator

__all__ = (
    "MACHINES",
    "NEWEST",
    "SYSCALLS",
    "machine_is_known",
    "syscall_filter",
)

# --- Numbers of the system calls that the filter names, for each machine it knows ---
#
# Calls newer than `NEWEST` have not been judged and do not exist for a job. Raise it only after
# adding those that need a rule.

# The kernel's id of each machine (AUDIT_ARCH), by the name that `os.uname()` gives.
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

NEWEST = 462

# A number for each of `MACHINES`, in their order; `None` where the machine has no such call.
SYSCALLS: dict[str, tuple[int | None, int | None]] = {
    # Secrets of the kernel and of other programs.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "perf_event_open": (298, 241),
    "syslog": (103, 116),
    "lookup_dcookie": (212, 18),
    "memfd_secret": (447, 447),
    # Large interfaces into the kernel, with a history of vulnerabilities.
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "vmsplice": (278, 75),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # Location of files: mounts, roots, namespaces, handles.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "setns": (308, 268),
    "unshare": (272, 97),
    "clone": (56, 220),
    "clone3": (435, 435),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    # The machine as a whole.
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, None),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "iopl": (172, None),
    "ioperm": (173, None),
    "vhangup": (153, 58),
    "nfsservctl": (180, 42),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "personality": (135, 92),
    "sync": (162, 81),
    "syncfs": (306, 267),
    # Files by their mode.
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "creat": (85, None),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "mknod": (133, None),
    "mknodat": (259, 33),
    # Terminals and sockets.
    "ioctl": (16, 29),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "bind": (49, 200),
    "listen": (50, 201),
    # Memory and messages that outlive their maker.
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}


# --- The seccomp filter of system calls: 8-byte instructions of classic BPF ---

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _ABOVE, _BITS = 0x15, 0x25, 0x45
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000

# Set-uid and set-gid bits: a file with them could give its owner's rights to another process.
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000  # O_CREAT, and the bit that only O_TMPFILE has
# All CLONE_NEW… flags together.
_NAMESPACES = 0x7E020000
_READ, _NONE = 0xFFFFFFFF, 0
_AF_UNIX, _AF_INET, _AF_INET6 = 1, 2, 10
_STREAM, _DATAGRAM, _PACKETS = 1, 2, 5
_TYPE = 0xFFFFFFFF & ~(0o4000 | 0o2000000)  # without SOCK_NONBLOCK and SOCK_CLOEXEC
_ANY, _TCP, _UDP = 0, 6, 17
_TIOCSTI, _TIOCLINUX, _TIOCSETD = 0x5412, 0x541C, 0x5423
_FORMAT, _CHARACTER, _BLOCK = 0o170000, 0o020000, 0o060000

# ENOSYS instead of EPERM: libc falls back to an older call only if this one does not exist.
_NO_SUCH_CALL = ("clone3", "openat2", "statmount", "listmount")
_NOTHING_TO_DO = ("sync", "syncfs")
_OUTLIVES = ("shmget", "semget", "msgget", "mq_open")
_LETS_IN = ("bind", "listen")


def machine_is_known(machine: str | None = None) -> bool:
    """Return whether a filter can be made for this machine."""
    return (machine or os.uname().machine) in MACHINES


def syscall_filter(machine: str | None = None, *, apart: bool, network: bool = False) -> bytes:
    """Return the filter for a machine, this one unless named.

    `apart` is true where the job has network and IPC namespaces of its own, and sees no folder of
    the host in which a socket may listen: then it may create local sockets and shared memory. With
    `network` it shares the network of the host, whose abstract sockets are reachable there too: it
    may create TCP and UDP sockets instead, and connect with them.
    """
    name = machine or os.uname().machine
    steps = [
        _step(_LOAD, _MACHINE),
        _step(_EQUAL, MACHINES[name], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(_BITS, _X32, 0, 1),
        _step(_RETURN, _KILL),
        _step(_ABOVE, NEWEST, 0, 1),
        _refuse(errno.ENOSYS),
    ]
    column = list(MACHINES).index(name)
    for call, answer in _rules(apart, network):
        number = SYSCALLS[call][column]
        if number is not None:
            steps += [_step(_EQUAL, number, 0, len(answer)), *answer]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _rules(apart: bool, network: bool) -> Iterator[tuple[str, list[bytes]]]:
    """Yield every call of the table with its answer."""
    local = apart and not network
    special = _by_argument() | _by_family(local, network)
    free = {*(_OUTLIVES if apart else ()), *(_LETS_IN if local else ())}
    for call in SYSCALLS:
        if call in special:
            yield call, special[call]
        elif call in _NO_SUCH_CALL:
            yield call, [_refuse(errno.ENOSYS)]
        elif call in _NOTHING_TO_DO:
            yield call, [_refuse(0)]
        elif call not in free:
            yield call, [_refuse(errno.EPERM)]


def _by_family(local: bool, network: bool) -> dict[str, list[bytes]]:
    """Return the rules for sockets: `local` ones where nobody else has any, those of the network,
    or none.

    A pair of datagram sockets is not confined to itself: each end can send to any named socket.
    """
    pair = [*_load(0), *_must_be((_AF_UNIX,), errno.EAFNOSUPPORT)]
    pair += [] if local else _of_type(_STREAM, _PACKETS)
    families = (_AF_INET, _AF_INET6) if network else (_AF_UNIX,) if local else ()
    one = [*_load(0), *_must_be(families, errno.EAFNOSUPPORT)]
    if network:
        one += _of_type(_STREAM, _DATAGRAM)
        one += [*_load(2), *_must_be((_ANY, _TCP, _UDP), errno.EPROTONOSUPPORT)]
    return {"socket": [*one, _allow()], "socketpair": [*pair, _allow()]}


def _by_argument() -> dict[str, list[bytes]]:
    return {
        "clone": _unless_bits(0, _NAMESPACES),
        "personality": _only(0, (_NONE, _READ), errno.EPERM),
        # TIOCSTI and TIOCLINUX type into the terminal of whoever started us; TIOCSETD loads kernel
        # modules.
        "ioctl": _load(1) + _none_of((_TIOCSTI, _TIOCLINUX, _TIOCSETD)),
        "open": _unless_made(1, 2),
        "openat": _unless_made(2, 3),
        "creat": _unless_bits(1, _SET_ID),
        "chmod": _unless_bits(1, _SET_ID),
        "fchmod": _unless_bits(1, _SET_ID),
        "fchmodat": _unless_bits(2, _SET_ID),
        "fchmodat2": _unless_bits(2, _SET_ID),
        "mknod": _no_device(1),
        "mknodat": _no_device(2),
    }


def _only(argument: int, values: tuple[int, ...], code: int) -> list[bytes]:
    """Allow when the argument is one of the values."""
    return [*_load(argument), *_must_be(values, code), _allow()]


def _must_be(values: tuple[int, ...], code: int) -> list[bytes]:
    """Continue when the loaded value is one of the values."""
    tests = [_step(_EQUAL, value, len(values) - at, 0) for at, value in enumerate(values)]
    return [*tests, _refuse(code)]


def _of_type(*types: int) -> list[bytes]:
    """Continue when the socket is of one of the types."""
    return [*_load(1), _step(_AND, _TYPE), *_must_be(types, errno.EPROTONOSUPPORT)]


def _none_of(values: tuple[int, ...]) -> list[bytes]:
    """Allow when the loaded value is none of the values."""
    tests = [
        step for value in values for step in (_step(_EQUAL, value, 0, 1), _refuse(errno.EPERM))
    ]
    return [*tests, _allow()]


def _unless_bits(argument: int, mask: int) -> list[bytes]:
    """Allow when the argument has no bit of the mask."""
    return [*_load(argument), _step(_BITS, mask, 0, 1), _refuse(errno.EPERM), _allow()]


def _unless_made(flags: int, mode: int) -> list[bytes]:
    """Allow opening; a created file must not be set-id. Without a create flag the mode is
    garbage.
    """
    made = _unless_bits(mode, _SET_ID)
    return [*_load(flags), _step(_BITS, _CREATES, 1, 0), _allow(), *made]


def _no_device(mode: int) -> list[bytes]:
    """Allow files, FIFOs and sockets that are not set-id."""
    not_set_id = [*_load(mode), _step(_BITS, _SET_ID, 0, 1), _refuse(errno.EPERM)]
    return [*not_set_id, _step(_AND, _FORMAT), *_none_of((_CHARACTER, _BLOCK))]


def _load(argument: int) -> list[bytes]:
    return [_step(_LOAD, _ARGUMENTS + 8 * argument)]


def _refuse(code: int) -> bytes:
    return _step(_RETURN, _REFUSE | code)


def _allow() -> bytes:
    return _step(_RETURN, _ALLOW)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
