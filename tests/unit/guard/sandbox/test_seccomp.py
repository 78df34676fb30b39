from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.sandbox.seccomp import (
    MACHINES,
    NEWEST,
    SYSCALLS,
    machine_is_known,
    syscall_filter,
)

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS, NOTHING = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x50000
NO_FAMILY = 0x50000 | errno.EAFNOSUPPORT
NO_PROTOCOL = 0x50000 | errno.EPROTONOSUPPORT
BY_ARGUMENT = {
    *("clone", "personality", "socket", "socketpair", "ioctl", "open", "openat", "creat", "chmod"),
    *("fchmod", "fchmodat", "fchmodat2", "mknod", "mknodat"),
}


def answer(
    machine: str, call: str | int, *arguments: int, apart: bool = True, network: bool = False
) -> int:
    """What the filter says, by carrying it out step by step as the kernel does."""
    number = call if isinstance(call, int) else SYSCALLS[call][list(MACHINES).index(machine)]
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    words = struct.pack("<II8x6Q", number, MACHINES[machine], *padded)
    return carry_out(syscall_filter(machine, apart=apart, network=network), words)


def carry_out(program: bytes, words: bytes) -> int:
    steps = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        match code:
            case 0x20:
                value = struct.unpack_from("<I", words, operand)[0]
            case 0x54:
                value &= operand
            case 0x06:
                return operand
            case 0x15:
                at += yes if value == operand else no
            case 0x25:
                at += yes if value > operand else no
            case 0x45:
                at += yes if value & operand else no
            case _:
                raise AssertionError(f"an unknown step {code:x}")


@pytest.fixture(params=list(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_call_of_the_table_has_an_answer(machine: str) -> None:
    for call, both in SYSCALLS.items():
        if both[list(MACHINES).index(machine)] is not None and call not in BY_ARGUMENT:
            assert answer(machine, call, apart=False) in (EPERM, ENOSYS, NOTHING)


def test_a_call_that_is_not_named_is_allowed_and_a_newer_one_does_not_exist(machine: str) -> None:
    named = {both[list(MACHINES).index(machine)] for both in SYSCALLS.values()}
    for number in range(NEWEST + 1):
        if number not in named:
            assert answer(machine, number) == ALLOW
    assert answer(machine, NEWEST + 1) == ENOSYS
    assert answer(machine, 0x3FFFFFFF) == ENOSYS


def test_another_machine_s_calls_kill(machine: str) -> None:
    program = syscall_filter(machine, apart=True)
    assert carry_out(program, struct.pack("<II8x6Q", 1, 0x40000003, *[0] * 6)) == KILL
    assert answer(machine, 0x40000000 | 39) == KILL


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("clone", (17,), ALLOW),
        ("clone", (0x3D0F00,), ALLOW),
        ("clone", (0x10000000 | 17,), EPERM),
        ("clone", (0x00020000,), EPERM),
        ("clone3", (), ENOSYS),
        ("openat2", (), ENOSYS),
        ("personality", (0xFFFFFFFF,), ALLOW),
        ("personality", (0x40000,), EPERM),
        ("socket", (1, 1), ALLOW),
        ("socket", (2, 1), NO_FAMILY),
        ("socket", (40, 1), NO_FAMILY),
        ("socket", (1 << 32 | 2, 1), NO_FAMILY),
        ("socketpair", (1, 1), ALLOW),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), EPERM),
        ("ioctl", (0, 1 << 32 | 0x5412), EPERM),
        ("openat", (0, 0, 0, 0o4755), ALLOW),
        ("openat", (0, 0, 0o101, 0o755), ALLOW),
        ("openat", (0, 0, 0o101, 0o4755), EPERM),
        ("openat", (0, 0, 0o20200002, 0o2755), EPERM),
        ("fchmod", (0, 0o1777), ALLOW),
        ("fchmod", (0, 0o2755), EPERM),
        ("fchmodat", (0, 0, 0o4755), EPERM),
        ("fchmodat2", (0, 0, 0o4755), EPERM),
        ("mknodat", (0, 0, 0o100644), ALLOW),
        ("mknodat", (0, 0, 0o010644), ALLOW),
        ("mknodat", (0, 0, 0o020644), EPERM),
        ("mknodat", (0, 0, 0o060644), EPERM),
        ("mknodat", (0, 0, 0o104644), EPERM),
        ("sync", (), NOTHING),
        ("socketpair", (1, 2), ALLOW),
        ("bind", (), ALLOW),
        ("listen", (), ALLOW),
        ("shmget", (), ALLOW),
    ],
)
def test_a_call_is_judged_by_its_argument(
    machine: str, call: str, arguments: tuple[int, ...], expected: int
) -> None:
    assert answer(machine, call, *arguments) == expected


def test_a_job_that_is_not_apart_has_no_sockets_and_leaves_no_memory(machine: str) -> None:
    assert answer(machine, "socket", 1, 1, apart=False) == NO_FAMILY
    assert answer(machine, "socketpair", 1, 1, apart=False) == ALLOW
    assert answer(machine, "socketpair", 1, 2, apart=False) == NO_PROTOCOL
    for call in ("shmget", "semget", "msgget", "mq_open", "bind", "listen"):
        assert answer(machine, call, apart=False) == EPERM


@pytest.mark.parametrize("apart", [True, False])
def test_with_the_network_there_is_tcp_and_udp_and_nobody_is_let_in(
    machine: str, apart: bool
) -> None:
    def said(call: str, *arguments: int) -> int:
        return answer(machine, call, *arguments, apart=apart, network=True)

    for family in (2, 10):
        for kind in (1, 2, 1 | 0o4000, 2 | 0o2000000):
            for protocol in (0, 6, 17):
                assert said("socket", family, kind, protocol) == ALLOW
            assert said("socket", family, kind, 132) == NO_PROTOCOL
        for kind in (0, 3, 5, 6, 3 | 0o4000, 1 | 1 << 12):
            assert said("socket", family, kind) == NO_PROTOCOL
    for family in (0, 1, 3, 16, 17, 38, 40):
        assert said("socket", family, 1) == NO_FAMILY
    assert [said("socketpair", 1, kind) for kind in (1, 2, 5)] == [ALLOW, NO_PROTOCOL, ALLOW]
    assert said("socketpair", 2, 1) == NO_FAMILY
    assert said("bind") == said("listen") == EPERM
    assert said("shmget") == (ALLOW if apart else EPERM)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 2**64 - 1), max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_every_path_through_the_filter_ends(
    number: int, arguments: list[int], apart: bool, network: bool
) -> None:
    for machine in MACHINES:
        answer(machine, number, *arguments, apart=apart, network=network)


def test_the_filter_fits_the_kernel() -> None:
    for machine in MACHINES:
        assert len(syscall_filter(machine, apart=False)) // 8 < 4096
    assert machine_is_known("aarch64")
    assert not machine_is_known("riscv64")
