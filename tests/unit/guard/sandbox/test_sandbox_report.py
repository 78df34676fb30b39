from __future__ import annotations

import tarfile

from hypothesis import given
from hypothesis import strategies as st

from callblocks.guard.sandbox.job import Output, Report
from callblocks.guard.sandbox.tar_streams import Collector, Unpacker

EMPTY = bytes(tarfile.RECORDSIZE)


class Heard:
    """A report that keeps what it heard."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        unpacker = Unpacker(Collector({}, bytes_limit=1000, count_limit=10))
        self.report = Report(
            unpacker,
            self.heard.append,
            lambda: self.heard.append("ready"),
            lambda: self.heard.append("exit"),
            lambda: self.heard.append("refused"),
        )


def test_a_report_is_heard_in_order() -> None:
    heard = Heard()
    heard.report.feed(b'{\n    "child-pid": 42\n}\nready\n')
    assert heard.heard == [42, "ready"]
    heard.report.feed(b"exit 3\n" + EMPTY)
    assert not heard.report.complete
    heard.report.feed(b"end 0\n")
    assert heard.heard == [42, "ready", "exit"]
    assert heard.report.exit_code == 3
    assert heard.report.complete


def test_an_archiver_that_failed_is_not_believed() -> None:
    heard = Heard()
    heard.report.feed(b"ready\nexit 0\n" + EMPTY + b"end 2\n")
    assert not heard.report.complete


@given(
    st.lists(st.sampled_from([b"ready\n", b"exit 0\n", b"exit x\n", EMPTY, b"end 0\n", b"x" * 99]))
)
def test_no_report_raises_and_each_thing_is_heard_once(pieces: list[bytes]) -> None:
    heard = Heard()
    for piece in pieces:
        heard.report.feed(piece)
    for word in ("ready", "exit", "refused"):
        assert heard.heard.count(word) <= 1


def test_a_job_cannot_name_a_process_once_it_runs() -> None:
    heard = Heard()
    heard.report.feed(b'ready\n"child-pid": 1\n')
    assert heard.heard == ["ready", "refused"]


def test_what_follows_the_archive_is_bounded() -> None:
    heard = Heard()
    heard.report.feed(b"ready\nexit 0\n" + EMPTY)
    for _ in range(100):
        heard.report.feed(bytes(65536))
    assert heard.report.refused


def test_output_is_held_until_the_job_starts_and_then_passed_on_up_to_the_limit() -> None:
    passed: list[tuple[str, bytes]] = []
    output = Output(10, lambda stream, piece: passed.append((stream, piece)), lambda: None)
    output.take("stderr", b"abcd")
    assert passed == []
    assert output.early == "abcd"
    output.release()
    output.take("stdout", b"efghijklm")
    output.take("stdout", b"nop")
    assert passed == [("stderr", b"abcd"), ("stdout", b"efghij")]
    assert output.total == 16
    assert output.truncated


def test_a_taker_that_raises_is_asked_no_more() -> None:
    stopped: list[bool] = []

    def refuse(stream: str, piece: bytes) -> None:
        raise RuntimeError("enough")

    output = Output(100, refuse, lambda: stopped.append(True))
    output.release()
    output.take("stdout", b"a")
    output.take("stdout", b"b")
    assert stopped == [True]
    assert isinstance(output.fault, RuntimeError)
    assert not output.truncated
