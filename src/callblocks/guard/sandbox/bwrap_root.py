"""The root of a job inside bubblewrap: the machine's programs read-only, everything else made here.

    /usr /bin /lib …    the machine's, read-only
    /etc                a few generated files; with the network, resolver settings and certificates
    /workspace          the job's copy of its folder, in memory, sized
    /tmp /dev/shm       in memory, sized

The root is built from nothing: what is not bound does not exist. Binding `/` and hiding parts of it
would expose every secret that nobody thought of.
"""

from __future__ import annotations

import os

from callblocks.guard.sandbox.sandbox import Job

__all__ = (
    "NAMES",
    "SCRIPT",
    "USER",
    "WORKSPACE",
    "certificates",
    "environment",
    "etc",
    "names",
    "system_folders",
)

# --- The machine's files that a job with the network gets: resolver settings and certificates ---
#
# No proxy and no key is among them: those are in an environment and in folders that a job never
# has.

# Files of name servers, and of the names of ports and protocols.
NAMES = ("/etc/resolv.conf", "/etc/services", "/etc/protocols")

_OWN_NAMES = ("/etc/hosts", "/etc/nsswitch.conf")
_CERTIFICATES = (
    *("/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf"),
    *("/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust/extracted"),
    *("/etc/ca-certificates", "/var/lib/ca-certificates"),
)


def certificates() -> list[str]:
    """Return the existing folders and files of certificates; each distribution has its own."""
    return [path for path in _CERTIFICATES if os.path.exists(path)]


def names() -> list[str]:
    """Return the existing files of names, for a job that has no `/etc` of its own."""
    return [path for path in (*NAMES, *_OWN_NAMES) if os.path.isfile(path)]


# --- The root of a job in bubblewrap: the machine's programs read-only, all else made here ---

WORKSPACE = "/workspace"
USER = 1000

_ETC = {
    "passwd": f"user:x:{USER}:{USER}:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": f"user:x:{USER}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_NETWORK_ETC = {"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}

# $1: copy, bound or none   $2: processes   $3: the folder to start in   $4: paths that do not come
# out, one a line   then the command. fd 3: the archive that comes in   fd 4: the report.
#
# - The job gets neither of them, nor any descriptor that bubblewrap may have left open: an open
#   folder of the host is a way back to the host.
# - The traps keep this shell alive when the job signals its whole process group. They are handlers,
#   because an ignored signal would be inherited by the job and a handler is not.
# - What the job left running is killed before its files are read, or it could change them while tar
#   reads. `kill -9 -1` hits everything in this pid namespace but its init and this shell. /proc
#   then shows when the last of them is gone, without a fork, for which there may be no room.
SCRIPT = f"""\
way=$1 processes=$2 start=$3 inner=$4
shift 4
trap : HUP INT QUIT TERM USR1 USR2 ALRM
if [ "$way" = copy ]; then
    tar -x -f - -C {WORKSPACE} --no-same-owner <&3 || exit 125
fi
exec 3<&- 5<&- 6<&- 7<&- 8<&- 9<&-
cd "$start" || exit 125
echo ready >&4
(
    ulimit -u "$processes" 2>/dev/null || ulimit -p "$processes" || exit 125
    exec 4>&-
    exec "$@"
)
code=$?
exec </dev/null >/dev/null 2>&1
kill -9 -1
turns=0
while [ "$turns" -lt 20000 ]; do
    set -- /proc/[0-9]*
    [ "$#" -le 2 ] && break
    turns=$((turns + 1))
done
echo "exit $code" >&4
[ "$way" = bound ] && exit
cd {WORKSPACE} || exit 125
unset TAR_OPTIONS
PATH=/usr/bin:/bin
chmod -R u+rwX .
set --
if [ -n "$inner" ]; then
    set -- --anchored --no-wildcards -X -
fi
printf '%s\n' "$inner" | tar -c --format=gnu --hard-dereference "$@" -f - . >&4
echo "end $?" >&4
"""


def etc(job: Job) -> dict[str, str]:
    """Return the generated files of `/etc`, by their names."""
    return _ETC | _NETWORK_ETC if job.network else _ETC


def environment(job: Job, home: str = "/tmp") -> dict[str, str]:
    """Return the environment of a job, built from nothing and the job's own variables."""
    made = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HOME": home,
        "USER": "user",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": home,
        "GIT_CONFIG_NOSYSTEM": "1",  # git gives up when that file is there but closed
    }
    return made | job.env


def system_folders(job: Job) -> list[str]:
    """Return options that show the machine's programs read-only, with links as links."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = f"/{name}"
        if os.path.islink(path):
            options += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            options += ["--ro-bind", path, path]
    outward = (*NAMES, *certificates()) if job.network else ()
    for path in ("/etc/ld.so.cache", "/etc/alternatives", *outward):
        options += ["--ro-bind-try", path, path]
    return options
