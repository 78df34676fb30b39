"""What holds for every sandbox, whichever it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.sandbox import bubblewrap, landlock
from callblocks.guard.sandbox.inputs import survey
from callblocks.guard.sandbox.sandbox import MIB, Job, Limits, Sandbox, Stream, Written
from support.sandboxes import Ran, greeter, groups, run, sandbox_named, strangers


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox_named(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt").write_text("b")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "inner").symlink_to("sub/b.txt")
    return tmp_path


def sh(sandbox: Sandbox, program: str, folder: Path | None = None, **rest: Any) -> Ran:
    return run(sandbox, "sh", "-c", program, folder=str(folder) if folder else None, **rest)


def test_a_job_says_its_words_and_its_code(sandbox: Sandbox) -> None:
    ran = sh(sandbox, "echo out; echo err >&2; exit 3")
    assert (ran.stdout, ran.stderr, ran.ended.exit_code) == (b"out\n", b"err\n", 3)
    assert ran.ended.signal is None
    assert ran.ended.output_bytes == 8
    assert not ran.ended.truncated


def test_ordinary_programs_run(sandbox: Sandbox) -> None:
    program = """
        set -e
        python3 -c 'import subprocess, threading; subprocess.run(["true"], check=True)'
        python3 -c 'import multiprocessing as m; m.Process(target=print).start()'
        echo a > a.txt
        git init -q .
        git add .
        git -c user.name=a -c user.email=b commit -q -m x
        tar -cf x.tar .git
        mkdir y
        tar -xf x.tar -C y
        cp -rp y z
        rm -r y
        find . -name '*.txt' | sort | head -3 | xargs ls -l; sed -i s/a/b/ /dev/null || true
        timeout 5 true; nice true; date; touch -d yesterday f; mv f g; chmod 600 g; ln -s g h
        echo done
    """
    ran = sh(sandbox, program)
    assert ran.stdout.endswith(b"done\n"), ran.text
    assert ran.ended.exit_code == 0


def test_changes_come_out_and_the_folder_stays(sandbox: Sandbox, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    program = """
        ./run.sh; cat inner
        echo new > new.txt; echo changed > a.txt; rm sub/b.txt; mkdir -p x/y; echo '#!' > x/y/tool
        chmod +x x/y/tool; chmod -x run.sh; ln -s a.txt link
    """
    ran = sh(sandbox, program, folder)
    assert ran.stdout == b"ran\nb"
    changes = ran.ended.changes
    assert changes.lost == ""
    assert list(changes.written) == [
        Written("a.txt", b"changed\n"),
        Written("new.txt", b"new\n"),
        Written("run.sh", b"#!/bin/sh\necho ran\n", executable=False),
        Written("x/y/tool", b"#!\n", executable=True),
    ]
    assert changes.deleted == ("sub/b.txt",)
    assert [each.path for each in changes.left_out] == ["link"]
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_job_that_changes_nothing_has_no_changes(sandbox: Sandbox, folder: Path) -> None:
    changes = sh(sandbox, "cat a.txt > /dev/null; touch a.txt", folder).ended.changes
    assert (changes.written, changes.deleted, changes.left_out) == ((), (), ())


def test_what_cannot_be_read_inside_still_comes_out(sandbox: Sandbox, folder: Path) -> None:
    program = "echo x > dark; mkdir shut; echo y > shut/z; chmod 0 dark shut a.txt"
    changes = sh(sandbox, program, folder).ended.changes
    assert {each.path: each.content for each in changes.written} == {
        "dark": b"x\n",
        "shut/z": b"y\n",
    }
    assert changes.deleted == ()


def test_a_job_starts_where_it_is_told(sandbox: Sandbox, folder: Path) -> None:
    assert sh(sandbox, "cat b.txt", folder, cwd="sub").stdout == b"b"
    with pytest.raises(ToolError) as raised:
        sh(sandbox, "true", folder, cwd="none")
    assert raised.value.code == "sandbox_failed"


def test_what_is_named_stays_behind(sandbox: Sandbox, folder: Path) -> None:
    ran = sh(sandbox, "ls; echo mine > a.txt", folder, without=("a.txt", "sub"))
    assert ran.stdout.split() == [b"inner", b"run.sh"]
    assert ran.ended.changes.deleted == ()


@pytest.fixture
def open_folder() -> Generator[Path, None, None]:
    """A folder that every user can read: that of a test is private."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "sub").mkdir()
        (folder / "sub" / "b.txt").write_text("b")
        for name in "acde":
            (folder / f"{name}.txt").write_text(name)
        yield folder


TOO_LARGE = Limits(seconds=20, copy_files=1)


def test_a_folder_too_large_is_shown_read_only(sandbox: Sandbox, open_folder: Path) -> None:
    program = "cat a.txt; ls sub; touch x; echo y > a.txt; ls -l /proc/self/fd"
    ran = sh(sandbox, program, open_folder, limits=TOO_LARGE)
    assert ran.stdout.startswith(b"ab.txt\n")
    assert b"/tmp" not in ran.stdout
    assert not ran.ended.copied
    assert ran.ended.changes.written == ()
    assert not (open_folder / "x").exists()
    assert (open_folder / "a.txt").read_text() == "a"


def test_what_is_named_is_not_shown_either(sandbox: Sandbox, open_folder: Path) -> None:
    without = ("a.txt", "sub", "none")
    program = "cat a.txt; ls sub"
    if sandbox.name == "landlock":
        with pytest.raises(ToolError, match="cannot be hidden"):
            sh(sandbox, program, open_folder, limits=TOO_LARGE, without=without)
        return
    ran = sh(sandbox, program, open_folder, limits=TOO_LARGE, without=without)
    assert ran.stdout == b""


def test_a_folder_too_large_and_private_is_said(sandbox: Sandbox, open_folder: Path) -> None:
    open_folder.chmod(0o700)
    if sandbox.name == "landlock":
        assert sh(sandbox, "cat a.txt", open_folder, limits=TOO_LARGE).stdout == b""
        return
    with pytest.raises(ToolError, match="too large to copy"):
        sh(sandbox, "cat a.txt", open_folder, limits=TOO_LARGE)


def test_standard_input_is_given_and_else_empty(sandbox: Sandbox) -> None:
    assert run(sandbox, "cat", stdin=b"hello").stdout == b"hello"
    assert run(sandbox, "cat").stdout == b""
    assert run(sandbox, "true", stdin=b"x" * (1 << 20)).ended.exit_code == 0


def test_the_environment_is_made_from_nothing(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    ran = run(sandbox, "env", env={"EXTRA": "1", "TAR_OPTIONS": "--bogus"})
    names = {line.partition(b"=")[0].decode() for line in ran.stdout.splitlines()}
    made = {"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "EXTRA", "TAR_OPTIONS"}
    made.add("GIT_CONFIG_NOSYSTEM")
    assert names - {"PWD", "OLDPWD"} == made
    assert ran.ended.changes.lost == ""


def test_an_unknown_program_is_127(sandbox: Sandbox) -> None:
    ran = run(sandbox, "no-such-program")
    assert ran.ended.exit_code == 127
    assert b"no-such-program" in ran.stderr
    assert run(sandbox, "exit", "0").ended.exit_code == 127


def test_a_signal_is_named(sandbox: Sandbox) -> None:
    ended = sh(sandbox, "kill -SEGV $$").ended
    assert (ended.exit_code, ended.signal) == (139, "SIGSEGV")
    assert sh(sandbox, "exit 200").ended.signal is None


def test_a_job_may_end_its_own_process_group(sandbox: Sandbox) -> None:
    ended = sh(sandbox, "echo x > kept; trap '' TERM; kill 0; exit 4").ended
    assert ended.exit_code == 4
    assert [each.path for each in ended.changes.written] == ["kept"]


def test_time_ends_a_job_and_its_changes(sandbox: Sandbox) -> None:
    ended = sh(sandbox, "echo x > y; sleep 100 & sleep 100", limits=Limits(seconds=0.5)).ended
    assert ended.timed_out
    assert ended.exit_code is None
    assert ended.changes.written == ()
    assert "stopped" in ended.changes.lost


def test_a_daemon_does_not_keep_a_job_alive(sandbox: Sandbox) -> None:
    ended = sh(sandbox, "sleep 100 & echo x > y").ended
    assert ended.exit_code == 0
    assert not ended.timed_out
    assert [each.path for each in ended.changes.written] == ["y"]
    assert not strangers()


def test_cancelling_ends_everything_before_it_is_felt(sandbox: Sandbox) -> None:
    async def go() -> None:
        started = asyncio.Event()
        job = Job(argv=("sh", "-c", "echo up; sleep 100 & sleep 100"))
        work = asyncio.ensure_future(sandbox.run(job, lambda *_: started.set()))
        await started.wait()
        work.cancel()
        await asyncio.sleep(0)
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        assert work.cancelled()

    asyncio.run(go())
    assert not strangers()
    assert not groups()


def test_cancelling_at_once_starts_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    async def go() -> None:
        work = asyncio.ensure_future(sandbox.run(Job(argv=("true",), folder=str(tmp_path))))
        await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait((work,))
        assert work.cancelled()

    asyncio.run(go())
    assert not groups()


def test_a_taker_that_raises_ends_the_job(sandbox: Sandbox) -> None:
    def refuse(stream: Stream, piece: bytes) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        asyncio.run(sandbox.run(Job(argv=("sh", "-c", "echo x; sleep 100")), refuse))
    assert not strangers()


def test_output_beyond_the_limit_is_counted(sandbox: Sandbox) -> None:
    limits = Limits(seconds=20, output=1000)
    ran = run(sandbox, "head", "-c", "5000000", "/dev/zero", limits=limits)
    assert ran.stdout == bytes(1000)
    assert ran.ended.output_bytes == 5_000_000
    assert ran.ended.truncated


def test_output_comes_while_the_job_runs(sandbox: Sandbox) -> None:
    times: list[float] = []
    job = Job(argv=("sh", "-c", "echo a; sleep 0.5; echo b"))
    asyncio.run(sandbox.run(job, lambda *_: times.append(time.monotonic())))
    assert len(times) == 2
    assert times[1] - times[0] > 0.1


def test_memory_and_processes_that_run_out_are_said(sandbox: Sandbox) -> None:
    small = Limits(seconds=20, memory=32 * MIB, files=MIB, processes=5)
    taken = run(sandbox, "python3", "-c", "x = b'x' * (90 << 20)", limits=small)
    assert taken.ended.out_of_memory
    if sandbox.name == "bubblewrap":
        many = sh(
            sandbox, "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do sleep 9 & done", limits=small
        )
        assert many.ended.out_of_processes


def test_many_jobs_run_side_by_side(sandbox: Sandbox) -> None:
    async def go() -> list[int | None]:
        jobs = [Job(argv=("sh", "-c", f"exit {number}")) for number in range(8)]
        ended = await asyncio.gather(*(sandbox.run(job) for job in jobs))
        return [each.exit_code for each in ended]

    assert asyncio.run(go()) == list(range(8))


@pytest.mark.parametrize(
    "job",
    [
        Job(argv=()),
        Job(argv=("",)),
        Job(argv=("echo", "a\0b")),
        Job(argv=("echo", "\udcff")),
        Job(argv=("echo", "x" * 200_000)),
        Job(argv=("echo", *["x" * 1000] * 1100)),
        Job(argv=("true",), env={"A=B": "c"}),
        Job(argv=("true",), env={"A": "\0"}),
        Job(argv=("true",), cwd="../x"),
    ],
)
def test_a_job_that_cannot_be_is_refused(sandbox: Sandbox, job: Job) -> None:
    with pytest.raises(ToolError) as raised:
        asyncio.run(sandbox.run(job))
    assert raised.value.code == "invalid_input"


def test_a_folder_that_is_not_there_is_said(sandbox: Sandbox) -> None:
    with pytest.raises(ToolError, match="cannot be read"):
        run(sandbox, "true", folder="/no/such/folder")


def test_a_machine_that_refuses_is_a_failure_with_a_code(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    def refuse(*_: object) -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patch:
        patch.setattr(os, "memfd_create", refuse)
        with pytest.raises(ToolError, match="Too many open files") as raised:
            asyncio.run(sandbox.run(Job(argv=("true",), folder=str(folder))))
    assert raised.value.code == "sandbox_failed"
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert not groups()


def test_a_folder_that_vanishes_is_said(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    found = survey(Job(argv=("true",), folder=str(folder)))
    for module in (bubblewrap, landlock):
        monkeypatch.setattr(module, "survey", lambda _: found)
    with pytest.raises(ToolError) as raised:
        run(sandbox, "true", folder=f"{folder}/gone")
    assert raised.value.code == "sandbox_failed"


def test_nothing_is_left_open(sandbox: Sandbox) -> None:
    run(sandbox, "true")
    before = len(os.listdir("/proc/self/fd"))
    run(sandbox, "true")
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_is_read_only_stays_and_what_is_written_again_counts(
    sandbox: Sandbox, folder: Path
) -> None:
    program = """
        echo more >> sub/b.txt || echo refused
        touch sub/new || echo refused
        cat sub/b.txt
        cat a.txt > copy; cat copy > a.txt; rm copy
        cat run.sh > copy; cat copy > run.sh; rm copy
    """
    ran = sh(sandbox, program, folder, read_only=("sub",), watched=("a.txt", "inner"))
    assert ran.stdout == b"refused\nrefused\nb"
    assert ran.ended.changes.written == (Written("a.txt", b"a"),)
    assert ran.ended.changes.deleted == ()


def test_what_is_read_only_never_comes_out(sandbox: Sandbox, folder: Path) -> None:
    (folder / "more sub").mkdir()
    (folder / "more sub" / "sub").write_text("c")
    program = """
        chmod -R u+w sub 'more sub'
        echo new > sub/b.txt; echo new > sub/new; rm 'more sub/sub'
        mkdir -p other/sub; echo c > other/sub/c; echo d > subway
    """
    ran = sh(sandbox, program, folder, read_only=("sub", "more sub"))
    assert ran.ended.changes.written == (Written("other/sub/c", b"c\n"), Written("subway", b"d\n"))
    assert ran.ended.changes.deleted == ()


def test_what_is_watched_and_not_touched_does_not_count(sandbox: Sandbox, folder: Path) -> None:
    ran = sh(sandbox, "touch -d 1960-01-01 run.sh; cat a.txt", folder, watched=("a.txt", "run.sh"))
    assert ran.ended.changes.written == ()
    assert ran.ended.changes.lost == ""


_KNOCK = """
import os, socket, sys
try:
    with socket.create_connection(("localhost", int(sys.argv[1])), timeout=5) as one:
        print(one.recv(99).decode())
except OSError:
    print("nobody")
for look, path in ((open, "/etc/resolv.conf"), (os.listdir, "/etc/ssl/certs")):
    try: look(path); print("read", path)
    except OSError: pass
print(sorted(name for name in os.environ if "prox" in name.lower() or "SECRET" in name))
"""


@pytest.mark.parametrize("limits", [Limits(seconds=20), TOO_LARGE], ids=["copied", "bound"])
def test_a_job_has_the_network_only_where_it_is_given(
    sandbox: Sandbox, open_folder: Path, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    monkeypatch.setenv("https_proxy", "http://me:word@proxy.example:3128")
    monkeypatch.setenv("MY_SECRET", "word")
    (open_folder / "knock.py").write_text(_KNOCK)
    with greeter() as port:
        argv = ("python3", "knock.py", str(port))
        given: dict[str, Any] = {"folder": str(open_folder), "limits": limits}
        without = run(sandbox, *argv, **given)
        with_it = run(sandbox, *argv, **given, network=True)
    there = [path for path in ("/etc/resolv.conf", "/etc/ssl/certs") if os.path.exists(path)]
    assert without.text.splitlines() == ["nobody", "[]"]
    assert with_it.text.splitlines() == ["hello", *(f"read {path}" for path in there), "[]"]
