"""Hostile programs run in each sandbox of this machine, and stay in it.

The bombs come after the limits were seen to hold on something small, within a bound of memory
for this process and a time after which the host itself stops them.
"""

from __future__ import annotations

import resource
from collections.abc import Generator
from functools import cache
from pathlib import PurePosixPath

import pytest

from callblocks.guard.sandbox.sandbox import MIB, Limits, Sandbox
from support.attacks import ATTACKS, NETWORKED, Attack
from support.sandboxes import Host, Ran, groups, host, run, sandbox_named, strangers

_MOST = {"filesystem", "network", "syscalls", "processes", "uid", "memory"}
HOLDS = {"bubblewrap": {*_MOST, "disk"}, "landlock": _MOST}
_BEYOND = {"bubblewrap": {"report"}, "landlock": {"shared ipc"}}
_ALSO = {False: (), True: ("networked",)}
# An attack is tried wherever something is said to hold it.
TRIALS = [
    pytest.param(name, attack, id="-".join((name, *_ALSO[attack.network], *attack.name.split())))
    for name, held in HOLDS.items()
    for attack in (*ATTACKS, *NETWORKED)
    if attack.needs <= held | _BEYOND[name]
]


@pytest.fixture(scope="module", autouse=True)
def _bounded() -> Generator[None, None, None]:
    """Whatever gets through, this process does not take the machine's memory."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (4096 * MIB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.fixture(scope="module")
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return _tried(request.param)


@pytest.fixture(scope="module")
def victim() -> Generator[Host, None, None]:
    with host() as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALLBLOCKS_TEST_SECRET", made.secret)
        yield made


@cache
def _tried(name: str) -> Sandbox:
    """A sandbox whose limits were seen to hold, once in a process."""
    found = sandbox_named(name)
    _limits_hold_on_something_small(found)
    return found


def _limits_hold_on_something_small(sandbox: Sandbox) -> None:
    small = Limits(seconds=10, memory=32 * MIB, processes=6, files=MIB)
    if "memory" in sandbox.holds:
        taken = run(sandbox, "python3", "-c", "x = b'x' * (64 << 20); print('got')", limits=small)
        assert b"got" not in taken.stdout
        assert taken.ended.out_of_memory
    if "processes" in sandbox.holds:
        program = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 1 & done; echo got"
        forked = run(sandbox, "sh", "-c", program, limits=small)
        assert b"got" not in forked.stdout
    if "disk" in sandbox.holds:
        filled = run(sandbox, "sh", "-c", "head -c 3000000 /dev/zero > x && echo got", limits=small)
        assert b"got" not in filled.stdout


@pytest.mark.parametrize("sandbox", HOLDS, indirect=True)
def test_here_everything_holds_that_can(sandbox: Sandbox) -> None:
    assert {*sandbox.holds} == HOLDS[sandbox.name]


def test_every_attack_is_tried_somewhere() -> None:
    held = [had | _BEYOND[name] for name, had in HOLDS.items()]
    tried = (*ATTACKS, *NETWORKED)
    assert [attack.name for attack in tried if not any(attack.needs <= one for one in held)] == []


@pytest.mark.parametrize(("sandbox", "attack"), TRIALS, indirect=["sandbox"])
def test_is_contained(sandbox: Sandbox, victim: Host, attack: Attack) -> None:
    ran = victim.attack(sandbox, attack)
    assert "BREACH" not in ran.text
    assert "TRIED" in ran.text or not attack.ends, ran.text
    assert victim.secret not in ran.text
    assert victim.is_untouched()
    assert not strangers()
    assert not groups()
    _nothing_hostile_came_out(ran, victim)


def _nothing_hostile_came_out(ran: Ran, victim: Host) -> None:
    changes = ran.ended.changes
    for path in (*(written.path for written in changes.written), *changes.deleted):
        pure = PurePosixPath(path)
        assert not pure.is_absolute()
        assert ".." not in pure.parts
        assert path.isprintable()
    assert len({written.path for written in changes.written}) == len(changes.written)
    assert not any(victim.secret.encode() in written.content for written in changes.written)
    assert ran.ended.output_bytes >= len(ran.stdout + ran.stderr)
    assert len(ran.stdout + ran.stderr) <= 4 * MIB
