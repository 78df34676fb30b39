"""What a job finds inside bubblewrap: the machine's programs, and else only what is made here.

/usr /bin /lib …    the machine's, read-only
/etc                a few made-up files; with the network, how to find names and whom to trust
/workspace          the job's copy of its folder, in memory, sized
/tmp /dev/shm       in memory, sized
"""

from __future__ import annotations

import os

from callblocks.runtime.sandbox.outward import NAMES, certificates
from callblocks.runtime.sandbox.sandbox import Job

__all__ = ("SCRIPT", "USER", "WORKSPACE", "environment", "etc", "system_folders")

WORKSPACE = "/workspace"
USER = 1000

_ETC = {
    "passwd": f"user:x:{USER}:{USER}:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": f"user:x:{USER}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
_NETWORK_ETC = {"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}

# $1: copy, bound or none   $2: processes   $3: the folder to start in   $4: what does not come
# out, a path on each line   then the command.
# fd 3: the archive that comes in   fd 4: the report. The job is given neither, nor what
# bubblewrap may have left open: a folder of the host, once opened, is a way back to the host.
# The traps keep this shell alive when the job signals its whole process group; a handler, unlike
# an ignored signal, is not handed on. What the job left running is killed before its files are
# read; -1 is everything in this pid namespace but its init and this shell. /proc then shows when
# the last of them is gone, with no fork: there may be no room for one.
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
    """The files of `/etc` that are made up, by their names."""
    return _ETC | _NETWORK_ETC if job.network else _ETC


def environment(job: Job, home: str = "/tmp") -> dict[str, str]:
    """The environment of a job, made from nothing and what the job asks for."""
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
    """The options that show the machine's programs read-only, links as the links they are."""
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
