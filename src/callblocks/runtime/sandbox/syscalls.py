"""Numbers of the system calls that the filter names, for each machine it knows.

Calls newer than `NEWEST` have not been judged and do not exist for a job. Raise it only after
adding those that need a rule.
"""

from __future__ import annotations

__all__ = ("MACHINES", "NEWEST", "SYSCALLS")

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
