"""Hostile programs for sandboxes, and how each would show that it got out.

Every program says `TRIED` when it has done its worst, and `BREACH` with a word on it when it got
what it must not get. `{secret}` is a word that only the host knows; the other braces name things
of the host: a file that holds the word, a folder, a process, a port.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import msgspec

from callblocks.guard.sandbox.sandbox import MIB, Limits
from callblocks.guard.sandbox.seccomp import MACHINES, SYSCALLS

SMALL = Limits(
    seconds=10, memory=96 * MIB, processes=16, files=8 * MIB, output=64 * 1024, cpu_seconds=20
)


@dataclass(frozen=True)
class Attack:
    """A program in Python, and what a sandbox must hold for it to be kept in."""

    name: str
    program: str
    needs: frozenset[str] = frozenset()
    limits: Limits = SMALL
    ends: bool = True
    """Whether it lives to say that it tried; a bomb may be killed before."""
    network: bool = False
    """Whether it has the network, which must be all that it has more."""


def prelude() -> str:
    """What every program has at hand."""
    column = list(MACHINES).index(os.uname().machine)
    numbers = {name: both[column] for name, both in SYSCALLS.items() if both[column] is not None}
    return f"NR = {numbers!r}\n{_PRELUDE}"


_PRELUDE = """
import ctypes, errno, os, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *arguments):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return result if result >= 0 else -ctypes.get_errno()
def breach(what):
    print("BREACH", what, flush=True)
def must_fail(what, function, *arguments):
    try:
        result = function(*arguments)
    except (OSError, ValueError):
        return
    if not (isinstance(result, int) and result < 0):
        breach(what)
def refused(name, *arguments):
    if name in NR:
        result = syscall(NR[name], *arguments)
        if result not in (-errno.EPERM, -errno.ENOSYS):
            breach(f"{name} gave {result}")
def read(path):
    with open(path, "rb") as file:
        return file.read(4096)
def never(path):
    try:
        found = read(path)
    except OSError:
        return
    if found:
        breach(f"read {path}")
"""

_FORGE = """
import io, tarfile
def forge(*members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind, body, mode in members:
            info = tarfile.TarInfo("x")
            info.name, info.type, info.mode = name, kind, mode
            if kind == tarfile.REGTYPE:
                info.size = len(body)
                archive.addfile(info, io.BytesIO(body))
            else:
                info.linkname = body.decode()
                archive.addfile(info)
    return stream.getvalue()
def send(archive):
    parent = os.getppid()
    report = os.open(f"/proc/{{parent}}/fd/4", os.O_WRONLY)
    print("TRIED", flush=True)
    os.write(report, b"exit 0\\n")
    with open(report, "wb") as out:
        out.write(archive + b"end 0\\n")
    os.kill(parent, signal.SIGKILL)
FILE, LINK, HARD = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
"""


def _forged(name: str, members: str) -> Attack:
    return Attack(name, _FORGE + f"send(forge({members}))", frozenset({"report"}), ends=False)


_FILES = frozenset({"filesystem"})
_CALLS = frozenset({"syscalls"})
_NET = frozenset({"network"})
_PROCESSES = frozenset({"processes"})
_MEMORY = frozenset({"memory"})
_DISK = frozenset({"disk"})
_BOXED = frozenset({"report"})

ATTACKS = (
    # The files of the host.
    Attack(
        "reads private files",
        """
for path in ("/etc/shadow", "/root/.profile", "/root/.bashrc", "/work/main/pyproject.toml",
             "{file}", "/proc/1/root/etc/shadow", "/proc/self/root/../etc/shadow",
             "/proc/1/cwd/etc/shadow", "/proc/{process}/root/etc/shadow", "/etc/sudoers",
             "/var/log/dpkg.log", "/run/secrets", "/sys/class/dmi/id/product_uuid"):
    never(path)
""",
        _FILES,
    ),
    Attack("climbs out of the folder", 'for n in range(20): never("../" * n + "{file}")', _FILES),
    Attack(
        "writes outside",
        """
for path in ("/usr/bin/owned", "/etc/owned", "/owned", "/bin/owned", "/lib/owned", "/dev/owned",
             "/usr/local/bin/owned", "{folder}/owned", "/root/owned", "/var/tmp/owned"):
    must_fail("wrote " + path, lambda: open(path, "w").close())
must_fail("overwrote sh", lambda: open("/bin/sh", "r+b").close())
must_fail("removed the file", os.unlink, "{file}")
must_fail("truncated the file", os.truncate, "{file}", 0)
""",
        _FILES,
    ),
    Attack("lists the host", 'must_fail("listed", os.listdir, "{folder}")', _FILES),
    Attack(
        "links to a host's file",
        """
os.symlink("{file}", "link"); os.symlink("/etc/shadow", "shadow"); os.symlink("..", "up")
must_fail("hard link", os.link, "/usr/bin/env", "hard")
must_fail("hard link", os.link, "{file}", "hard2")
never("link"); never("shadow")
""",
        _FILES,
    ),
    Attack(
        "puts a link where a file was",
        'os.unlink("kept.txt"); os.symlink("{file}", "kept.txt")\n'
        'os.mkdir("d"); os.rmdir("d"); os.symlink("/etc", "d")',
    ),
    Attack(
        "makes devices",
        """
for kind, major, minor in ((stat.S_IFCHR, 1, 1), (stat.S_IFBLK, 254, 0), (stat.S_IFCHR, 0, 0)):
    must_fail("mknod", os.mknod, "device", kind | 0o666, os.makedev(major, minor))
""",
        _CALLS,
    ),
    Attack(
        "opens devices",
        """
for name in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "fuse", "kvm", "vsock",
             "vhost-vsock", "net/tun", "loop-control", "mapper/control", "vport0p1", "uinput"):
    must_fail("opened " + name, os.open, "/dev/" + name, os.O_RDWR)
    must_fail("read " + name, os.open, "/dev/" + name, os.O_RDONLY)
""",
        _FILES,
    ),
    Attack(
        "leaves set-id files",
        """
open("rooted", "w").write("#!/bin/sh\\n")
for mode in (0o4755, 0o2755, 0o6755):
    must_fail("chmod", os.chmod, "rooted", mode)
    must_fail("open", os.open, f"made{{mode}}", os.O_CREAT | os.O_WRONLY, mode)
    must_fail("mknod", os.mknod, f"node{{mode}}", stat.S_IFREG | mode)
how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
refused("openat2", -100, b"by-openat2", how, len(how))
refused("fchmodat2", -100, b"rooted", 0o4755, 0)
os.chmod("rooted", 0o755)
for name in os.listdir("."):
    if os.lstat(name).st_mode & 0o6000:
        breach("a set-id file " + name)
""",
        _CALLS,
    ),
    Attack(
        "runs set-id programs",
        """
import subprocess
for argv in (["su", "-c", "id"], ["mount", "/dev/vda", "/tmp"], ["sudo", "-n", "id"],
             ["newgrp", "root"], ["passwd", "-d", "root"], ["chsh", "-s", "/bin/sh", "root"]):
    try:
        done = subprocess.run(argv, capture_output=True, timeout=3, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        continue
    if done.returncode == 0 or b"uid=0" in done.stdout:
        breach(argv[0])
for change in (os.setuid, os.setgid):
    must_fail("became root", change, 0)
must_fail("groups", os.setgroups, [0])
if libc.prctl(39, 0, 0, 0, 0) != 1: breach("may gain privileges")
sets = ctypes.create_string_buffer(24)
if libc.capget(struct.pack("II", 0x20080522, 0), sets) or any(sets.raw): breach("capabilities")
""",
        frozenset({"uid"}),
    ),
    # What a sandbox gives back.
    _forged("archives an absolute path", '("/tmp/owned", FILE, b"x", 0o644)'),
    _forged("archives a path with dots", '("a/../../owned", FILE, b"x", 0o644)'),
    _forged("archives a name twice", '("a", FILE, b"x", 0o644), ("./a", FILE, b"y", 0o644)'),
    _forged(
        "archives a file below a link",
        '("d", LINK, b"/tmp", 0o777), ("d/owned", FILE, b"x", 0o644)',
    ),
    _forged("archives a hard link", '("owned", HARD, b"/etc/passwd", 0o644)'),
    _forged("archives a device", '("owned", tarfile.CHRTYPE, b"", 0o666)'),
    _forged("archives a set-id file", '("owned", FILE, b"x", 0o6755)'),
    _forged("archives a control character", '("a\\x1b[2Jb\\nc", FILE, b"x", 0o644)'),
    Attack(
        "archives too many files",
        _FORGE + 'send(forge(*((f"f{{n}}", FILE, b"", 0o644) for n in range(3000))))',
        _BOXED,
        msgspec.structs.replace(SMALL, copy_files=100),
        ends=False,
    ),
    _forged("archives too long a name", '("n" * 70000, FILE, b"", 0o644)'),
    Attack(
        "archives a sparse file",
        _FORGE
        + """
header = bytearray(tarfile.TarInfo("sparse").tobuf(tarfile.GNU_FORMAT))
header[156:157] = b"S"; header[483:495] = b"77777777777\\0"; header[148:156] = b"        "
header[148:156] = b"%06o\\0 " % sum(header)
send(bytes(header) + bytes(1024))
""",
        _BOXED,
        ends=False,
    ),
    Attack(
        "archives a size that is a lie",
        _FORGE
        + """
info = tarfile.TarInfo("huge"); info.size = 1 << 60
send(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
""",
        _BOXED,
        ends=False,
    ),
    Attack("archives garbage", _FORGE + "send(os.urandom(1 << 20))", _BOXED, ends=False),
    Attack(
        "reports without end",
        """
report = os.open(f"/proc/{{os.getppid()}}/fd/4", os.O_WRONLY)
print("TRIED", flush=True)
while True: os.write(report, b"exit " * 10000)
""",
        _BOXED,
        ends=False,
    ),
    Attack(
        "kills its shell",
        'open("owned", "w").write("x"); print("TRIED", flush=True)\n'
        "os.kill(os.getppid(), signal.SIGKILL)",
        _BOXED,
        ends=False,
    ),
    Attack(
        "leaves odd files",
        """
os.mkfifo("pipe"); socket.socketpair(); os.mkdir("locked"); open("locked/x", "w").write("x")
os.chmod("locked", 0); open("dark", "w").write("x"); os.chmod("dark", 0)
open(b"\\xff\\xfe", "w").write("x"); open("new\\nline", "w").write("x")
for n in range(300):
    try: os.mkdir("d"); os.chdir("d")
    except OSError: break
""",
    ),
    Attack(
        "unpacks a bomb",
        """
import io, zipfile
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("zeros", bytes(12 << 20))
try:
    for n in range(20):
        zipfile.ZipFile(packed).extractall(f"out{{n}}")
    breach("wrote 240 MiB")
except OSError:
    pass
""",
        _DISK,
    ),
    # Secrets and other processes.
    Attack("reads the environment", 'if "{secret}" in str(os.environ): breach("environment")'),
    Attack(
        "reads other processes",
        """
for pid in list(range(1, 400)) + [{process}, os.getppid()]:
    for name in ("environ", "cmdline", "maps", "mem", "auxv"):
        try: found = read(f"/proc/{{pid}}/{{name}}")
        except OSError: continue
        if b"{secret}" in found or b"pytest" in found:
            breach(f"{{pid}} {{name}}")
""",
        _FILES,
    ),
    Attack(
        "sees other processes",
        'if os.path.exists("/proc/{process}"): breach("seen")\n'
        'if len([n for n in os.listdir("/proc") if n.isdigit()]) > 4: breach("many")',
        _BOXED,
    ),
    Attack(
        "kills the host's processes",
        """
must_fail("killed", os.kill, {process}, signal.SIGKILL)
must_fail("signalled", os.kill, {process}, 0)
must_fail("group", os.killpg, {process}, signal.SIGKILL)
must_fail("priority", os.setpriority, os.PRIO_PROCESS, {process}, 19)
""",
        _FILES,
    ),
    Attack(
        "traces a process",
        """
child = os.fork()
if not child: time.sleep(5); os._exit(0)
refused("ptrace", 16, child, 0, 0)
refused("ptrace", 16, os.getppid(), 0, 0)
refused("ptrace", 0, 0, 0, 0)
buffer = ctypes.create_string_buffer(64)
vector = struct.pack("PN", ctypes.addressof(buffer), 64)
refused("process_vm_readv", child, vector, 1, vector, 1, 0)
refused("process_vm_writev", child, vector, 1, vector, 1, 0)
refused("kcmp", child, child, 0, 0, 0)
refused("pidfd_getfd", os.pidfd_open(child), 0, 0)
os.kill(child, 9)
""",
        _CALLS,
    ),
    Attack(
        "looks for inherited files",
        """
import fcntl
for fd in range(3, 300):
    try: fcntl.fcntl(fd, fcntl.F_GETFD)
    except OSError: continue
    breach(f"fd {{fd}} is open")
for fd in (0, 1, 2):
    must_fail("a folder", os.open, "..", os.O_RDONLY, 0o600, dir_fd=fd) if 0 else None
    if stat.S_ISDIR(os.fstat(fd).st_mode): breach("a folder")
""",
    ),
    Attack(
        "asks for keys",
        """
refused("add_key", b"user", b"callblocks", b"x", 1, -3)
refused("request_key", b"user", b"callblocks", 0, -3)
refused("keyctl", 0, -3, 0)
""",
        _CALLS,
    ),
    # Doors into the kernel.
    Attack("asks for io_uring", 'refused("io_uring_setup", 8, bytes(120))', _CALLS),
    Attack(
        "loads BPF",
        'refused("bpf", 5, bytes(120), 120)\nrefused("bpf", 0, bytes(120), 120)',
        _CALLS,
    ),
    Attack(
        "asks for perf and userfaultfd",
        'refused("perf_event_open", bytes(128), 0, -1, -1, 0)\nrefused("userfaultfd", 1)',
        _CALLS,
    ),
    Attack(
        "makes namespaces",
        """
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x02000000):
    refused("unshare", flag)
    result = syscall(NR["clone"], flag | 17, 0, 0, 0, 0)
    if result == 0: os._exit(0)
    if result != -errno.EPERM: breach(f"clone {{flag:x}} gave {{result}}")
refused("unshare", 0x10020000)
refused("clone3", bytes(88), 88)
refused("setns", 0, 0)
""",
        _CALLS,
    ),
    Attack(
        "mounts",
        """
refused("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, 0)
refused("mount", b"/", b"/tmp", 0, 4096, 0)
refused("mount", 0, b"/usr", 0, 4096 | 32, 0)
refused("umount2", b"/usr", 2)
refused("pivot_root", b"/tmp", b"/tmp")
refused("chroot", b"/tmp")
for name in ("fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount", "mount_setattr"):
    refused(name, 0, 0, 0, 0, 0)
refused("open_by_handle_at", -100, bytes(64), 0)
""",
        _CALLS,
    ),
    Attack(
        "changes the machine",
        """
refused("settimeofday", bytes(16), 0)
refused("clock_settime", 0, bytes(16))
refused("adjtimex", bytes(208))
refused("reboot", 0xfee1dead - (1 << 32), 672274793, 0x89ABCDEF - (1 << 32), 0)
refused("sethostname", b"owned", 5)
refused("init_module", b"x", 1, b""); refused("finit_module", 0, b"", 0)
refused("delete_module", b"x", 0)
refused("kexec_load", 0, 0, 0, 0); refused("kexec_file_load", 0, 0, 0, 0, 0)
refused("swapon", b"/tmp/x", 0); refused("swapoff", b"/tmp/x"); refused("acct", b"/tmp/x")
refused("quotactl", 0, 0, 0, 0); refused("syslog", 3, bytes(100), 100)
refused("iopl", 3); refused("ioperm", 0, 10, 1); refused("vhangup")
refused("personality", 0x0040000)
if syscall(NR["personality"], 0xffffffff) < 0: breach("personality cannot be read")
""",
        _CALLS,
    ),
    Attack(
        "writes to the kernel's files",
        """
for path, value in (("sys/kernel/core_pattern", "|/tmp/x"), ("sysrq-trigger", "b"),
                    ("sys/kernel/hostname", "owned"), ("sys/vm/drop_caches", "1"),
                    ("self/uid_map", "0 0 1"), ("self/gid_map", "0 0 1"),
                    ("self/oom_score_adj", "-1000"), ("1/oom_score_adj", "-1000"),
                    ("sys/user/max_user_namespaces", "100"), ("sys/fs/suid_dumpable", "2")):
    def write():
        with open("/proc/" + path, "w") as file: file.write(value)
    must_fail("wrote " + path, write)
for path in ("/sys/kernel/uevent_helper", "/sys/power/state"):
    must_fail("opened " + path, os.open, path, os.O_WRONLY)
for pid in (1, os.getppid()):
    if "Seccomp:\t2" not in open(f"/proc/{{pid}}/status").read(): breach(f"{{pid}} has no filter")
""",
        frozenset({"filesystem", "report"}),
    ),
    Attack(
        "leaves its control group",
        """
import glob
for path in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:50] + [
        "/sys/fs/cgroup/pids/cgroup.procs", "/sys/fs/cgroup/memory/tasks",
        "/sys/fs/cgroup/cgroup.procs"]:
    must_fail("wrote " + path, lambda: open(path, "w").write("0"))
must_fail("made a group", os.mkdir, "/sys/fs/cgroup/pids/owned")
""",
        _FILES,
    ),
    Attack(
        "types into the terminal",
        """
import fcntl, pty
must_fail("tty", os.open, "/dev/tty", os.O_RDWR)
try: primary, terminal = pty.openpty()
except OSError: primary = terminal = 0
for fd in (0, 1, 2, terminal):
    for request in (0x5412, 0x541C, 0x5423, 0x5412 | 1 << 32):
        result = syscall(NR["ioctl"], fd, request, b"x")
        if result != -errno.EPERM: breach(f"ioctl {{request:x}} gave {{result}}")
""",
        _CALLS,
    ),
    Attack(
        "speaks another machine's calls",
        """
import mmap
if os.uname().machine == "x86_64":
    for code in (b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3", b"\\xb8\\x27\\0\\0\\x40\\x0f\\x05\\xc3"):
        child = os.fork()
        if not child:
            page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
            page.write(code)
            address = ctypes.addressof(ctypes.c_char.from_buffer(page))
            ctypes.CFUNCTYPE(ctypes.c_int)(address)()
            os._exit(7)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]): breach("lived")
""",
        _CALLS,
    ),
    Attack(
        "asks for memory that stays",
        'for name in ("shmget", "semget", "msgget"): refused(name, 0, 4096, 0o1666)\n'
        'refused("mq_open", b"owned", 66, 0o666, 0)',
        frozenset({"shared ipc"}),
    ),
    # The network.
    Attack(
        "connects to the host",
        """
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET6, ("::1", {port})),
                        (socket.AF_UNIX, "\\0{abstract}"), (socket.AF_UNIX, "{socket}"),
                        (socket.AF_UNIX, "/run/docker.sock"),
                        (socket.AF_UNIX, "/run/dbus/system_bus_socket")):
    def connect():
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(1)
            client.connect(address)
    must_fail(str(address), connect)
""",
        _NET,
    ),
    Attack(
        "makes sockets of every family",
        """
for family in (0, *range(2, 46)):
    for kind in (1, 2, 3, 5):
        if syscall(NR["socket"], family, kind, 0) >= 0: breach(f"{{family}} {{kind}}")
    if syscall(NR["socketpair"], family, 1, 0, bytes(8)) >= 0: breach(f"pair {{family}}")
if syscall(NR["socket"], 2 | 1 << 32, 1, 0) >= 0: breach("high bits")
""",
        _NET,
    ),
    Attack(
        "sends from a pair of sockets",
        """
def send(kind, flags, address):
    for one in socket.socketpair(socket.AF_UNIX, kind | flags):
        with one: one.sendto(b"owned", address)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    for flags in (0, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC | 1 << 30):
        for address in ("\\0{abstract_datagrams}", "{datagrams}"):
            must_fail(f"sent to {{address!r}} by {{kind}}", send, kind, flags, address)
""",
        _NET,
    ),
    # Using everything up.
    Attack(
        "forks without end",
        """
print("TRIED", flush=True)
made = 0
end = time.monotonic() + 1
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            while True:
                try: os.fork()
                except OSError: time.sleep(0.01)
        made += 1
    except OSError:
        time.sleep(0.01)
if made > 64: breach(f"{{made}} processes")
""",
        _PROCESSES,
        ends=False,
    ),
    Attack(
        "starts threads without end",
        """
import threading
threading.stack_size(65536)
made = 0
try:
    while made < 500:
        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        made += 1
except RuntimeError: pass
print("TRIED", flush=True)
if made > 64: breach(f"{{made}} threads")
os._exit(0)
""",
        _PROCESSES,
    ),
    Attack(
        "takes all memory",
        """
print("TRIED", flush=True)
taken = []
while len(taken) < 400:
    taken.append(bytearray(b"x") * (1 << 20))
breach("400 MiB")
""",
        _MEMORY,
        ends=False,
    ),
    Attack(
        "takes memory by forking",
        """
print("TRIED", flush=True)
children = []
for n in range(8):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        block = b"x" * (30 << 20)
        os.write(writer, b"y")
        time.sleep(1); os._exit(0)
    os.close(writer)
    children.append(reader)
got = sum(os.read(reader, 1) == b"y" for reader in children)
alive = 0
for n in range(8):
    if os.waitpid(-1, 0)[1] == 0: alive += 1
if alive > 4: breach(f"{{alive}} of 30 MiB each")
""",
        _MEMORY,
        ends=False,
    ),
    Attack(
        "takes memory as files",
        """
print("TRIED", flush=True)
files = []
for n in range(100):
    files.append(os.memfd_create("x"))
    for m in range(8): os.write(files[-1], bytes(1 << 20))
breach("800 MiB")
""",
        _MEMORY,
        ends=False,
    ),
    Attack(
        "fills the disk with one file",
        """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for path in ("big", "/tmp/big", "/dev/shm/big"):
    try:
        with open(path, "wb", buffering=0) as file:
            for n in range(64):
                if file.write(bytes(1 << 20)) < 1 << 20: raise OSError
        breach(path)
    except OSError: pass
must_fail("sparse", os.truncate, "big", 1 << 40)
must_fail("fallocate", os.posix_fallocate, os.open("big2", os.O_CREAT | os.O_RDWR), 0, 1 << 30)
""",
        _DISK,
    ),
    Attack(
        "fills the disk with many files",
        """
print("TRIED", flush=True)
try:
    for n in range(1_000_000):
        os.close(os.open(f"{{n:060}}", os.O_CREAT | os.O_WRONLY))
    breach("a million files")
except OSError: pass
""",
        _DISK,
        msgspec.structs.replace(SMALL, memory=12 * MIB, files=MIB),
        ends=False,
    ),
    Attack(
        "floods its output",
        """
end = time.monotonic() + 1
while time.monotonic() < end:
    os.write(1, b"x" * (1 << 20)); os.write(2, b"\\xff" * (1 << 20))
""",
        ends=False,
    ),
    Attack(
        "never ends",
        """
print("TRIED", flush=True)
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0: os.setsid()
while True: pass
""",
        limits=Limits(seconds=1, memory=96 * MIB, processes=16),
        ends=False,
    ),
    Attack(
        "leaves a daemon",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(600)
    os._exit(0)
""",
    ),
    Attack(
        "leaves a daemon that writes",
        """
for n in range(3):
    if os.fork() == 0:
        os.setsid()
        while True:
            with open(f"log{{n}}", "a") as file: file.write("x" * 100)
""",
    ),
    Attack(
        "dumps core",
        """
import resource
must_fail("core", resource.setrlimit, resource.RLIMIT_CORE, (1 << 30, 1 << 30))
must_fail("files", resource.setrlimit, resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))
child = os.fork()
if not child: os.abort()
if os.WCOREDUMP(os.waitpid(child, 0)[1]): breach("core")
if any("core" in name for name in os.listdir(".")): breach("core file")
""",
    ),
    Attack(
        "closes its own output",
        'print("TRIED", flush=True)\nos.close(1); os.close(2); os.close(0); time.sleep(0.1)',
        ends=False,
    ),
)

_HELD_WITH_NETWORK = (
    *("reads private files", "writes outside", "kills the host's processes", "makes namespaces"),
    *("writes to the kernel's files", "sends from a pair of sockets"),
)

NETWORKED = (
    *(replace(one, network=True) for one in ATTACKS if one.name in _HELD_WITH_NETWORK),
    Attack(
        "makes sockets that are not for the network",
        """
def made(*words):
    if syscall(NR["socket"], *words) >= 0: breach(str(words))
for family in range(46):
    for kind in (1, 2, 3, 4, 5, 6, 10):
        if family not in (socket.AF_INET, socket.AF_INET6): made(family, kind, 0)
        elif kind > 2: made(family, kind, 0); made(family, kind | socket.SOCK_CLOEXEC, 17)
for family in (socket.AF_INET, socket.AF_INET6):
    for protocol in (1, 2, 33, 41, 47, 58, 132, 136, 256, 262):  # ICMP, DCCP, SCTP, SMC, MPTCP, …
        for kind in (1, 2): made(family, kind, protocol)
made(1 << 32 | socket.AF_UNIX, 1, 0); made(socket.AF_INET, 1 << 32 | 3, 1)
made(socket.AF_INET, 2, 1 << 32 | 1)
""",
        _NET,
        network=True,
    ),
    Attack(
        "lets others in",
        """
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family, kind) as one:
            must_fail(f"bound {{address}}", one.bind, (address, 0))
            must_fail(f"listens at {{address}}", one.listen)
""",
        _NET,
        network=True,
    ),
)
"""Some of them, and some that are of use with the network only."""
