"""`callblocks audit`, `stats` and `convert` with many files: counts, reports and exit codes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from callblocks.bulk.execute import Progress
from callblocks.bulk.work import lexical
from callblocks.cli.commands.bulk import progress_words
from support.command import run

GOOD = '<tool_call>\n{"name": "file_read", "arguments": {"path": "a.md"}}\n</tool_call>'
QUOTES = GOOD.replace('"path"', "'path'")
OTHER = "🛠️[file_read b.md]🛠️[/end]"
BROKEN = "<tool_call>\n{nothing}\n</tool_call>"
OTHER_TOOL = '<tool_call>{"name": "remove", "arguments": {}}</tool_call>'
CUT = GOOD.removesuffix("</tool_call>")


def _chat(*texts: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": text, **more} for text in texts]}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    native = [{"function": {"name": "a", "arguments": text}} for text in ("{}", "{'a': 1}", "x")]
    use = {"type": "tool_use", "name": "a", "input": {}}
    records = [
        _chat(GOOD, GOOD),
        _chat(QUOTES, GOOD),
        _chat(OTHER),
        _chat(BROKEN),
        _chat(OTHER_TOOL),
        _chat(CUT),
        _chat("Prose."),
        {"messages": [{"role": "assistant", "content": None, "tool_calls": native}]},
        {"messages": [{"role": "assistant", "content": [use]}]},
        {"user": "no text of a model"},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + "{broken\n")
    return path


def _report(out: Path, name: str) -> dict[str, Any]:
    return json.loads((out / f"{name}.json").read_text())


def test_native_calls_beside_texts_count_once(tmp_path: Path) -> None:
    text, use = {"type": "text", "text": "I look."}, {"type": "tool_use", "name": "a", "input": {}}
    calls = [{"function": {"name": "a", "arguments": "{}"}}]
    messages = [
        {"role": "assistant", "content": [text, use, text, use]},
        {"role": "assistant", "content": [text], "tool_calls": calls},
        {"role": "assistant", "content": "I look.", "tool_calls": calls},
    ]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    result = run("audit", "-j1", str(tmp_path / "log.jsonl"), str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert _report(tmp_path / "out", "audit")["tally"]["native"] == 4


def test_an_audit_counts_what_a_corpus_holds(corpus: Path, tmp_path: Path) -> None:
    out, rules = tmp_path / "out", tmp_path / "policy.toml"
    rules.write_text('[[rule]]\ndecide = "allow"\ntool = "file_read"\npath = "a.md"\n')
    result = run("audit", "-j1", "--policy", str(rules), str(corpus), str(out))
    assert result.exit_code == 0, result.output
    tally = _report(out, "audit")["tally"]
    assert tally["calls"] == {"hermes": 6, "emoji-bracket": 1}
    assert tally["clean"] == {"hermes": 4, "emoji-bracket": 1}
    assert tally["problems"]["repaired-quotes"] == 1
    assert tally["malformed"]["hermes.json"] == 1
    assert tally["faulty"] == {"not-json": 1}
    assert (tally["unended"], tally["repaired"], tally["without_text"]) == (1, 2, 1)
    assert tally["verdicts"] == {
        "allow": 4,
        "ask": 1,
        "input does not fit": 1,
        "no such tool": 1,
    }
    assert list(tally["unknown"]) == ["remove"]
    assert (tally["native"], tally["native_faults"], tally["native_mended"]) == (4, 2, 1)
    assert "hermes" in result.stdout
    assert re.search(r"hermes\.json .* log\.jsonl:\d+", result.stdout)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "onload")]


def test_the_page_holds_no_script_and_loads_nothing(corpus: Path, tmp_path: Path) -> None:
    out, hostile = tmp_path / "out", tmp_path / "<img src=x onload=alert(1)>.jsonl"
    corpus.rename(hostile)
    assert run("audit", "-j1", str(tmp_path), str(out)).exit_code == 0
    page = (out / "audit.html").read_text()
    elements = _Elements()
    elements.feed(page)
    assert elements.links == []
    assert "svg" in elements.tags
    assert "script" not in elements.tags
    assert "&lt;img src=x onload=alert(1)&gt;.jsonl:" in page


def test_stats_say_what_a_strict_reader_loses(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("stats", "-j1", "--price", "10", str(corpus), str(out))
    assert result.exit_code == 0, result.output
    counted = _report(out, "stats")["saved"]
    assert (counted["baseline"], counted["calls"], counted["got"]) == ("hermes", 7, 4)
    assert (counted["repaired"], counted["others"], counted["lost_texts"]) == (2, 1, 3)
    assert counted["lost_tokens"] == (len(QUOTES) + len(OTHER) + len(CUT)) // 4
    # The call with wrong quotes was made again in the next text; the good one was not lost.
    assert counted["repeats"] == 1
    assert "what that costs" in result.stdout
    other = run("stats", "-j1", "--fresh", "--expected", "emoji-bracket", str(corpus), str(out))
    assert other.exit_code == 0
    assert _report(out, "stats")["saved"]["got"] == 1


def test_logs_without_calls_have_nothing_to_save(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Prose.")
    result = run("stats", "-j1", str(tmp_path / "a.txt"), str(tmp_path / "out"))
    assert result.exit_code == 0
    assert "No calls stand in these texts." in result.stdout


def test_many_files_are_converted(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("convert", "-j1", "--to", "tool-fence", str(corpus), str(out))
    assert result.exit_code == 1, "a line was broken"
    records = (out / "log.jsonl").read_text().splitlines()
    assert "```tool file_read" in json.loads(records[0])["messages"][0]["content"]
    assert json.loads(records[6]) == _chat("Prose.")
    assert records[-1] == "{broken"
    again = run("convert", "-j1", "--to", "tool-fence", str(corpus), str(out))
    assert "1 of 1 parts were done by an earlier run" in again.stderr


def test_what_cannot_be_said_stays_and_is_counted(tmp_path: Path) -> None:
    text = "<think>Hm.</think>" + GOOD
    (tmp_path / "a.txt").write_text(text)
    out = tmp_path / "out"
    options = ("--from", "hermes", "--to", "tool-fence", str(tmp_path / "a.txt"), str(out))
    assert run("convert", "-j1", *options).exit_code == 1
    assert (out / "a.txt").read_text() == text
    assert sum(_report(out, "convert")["tally"]["kept"].values()) == 1
    assert run("convert", "-j1", "--keep", "--fresh", *options).exit_code == 1
    assert "```tool file_read" in (out / "a.txt").read_text()


def test_bytes_that_are_no_text_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff" + GOOD.encode())
    out = tmp_path / "out"
    result = run("convert", "-j1", "--to", "tool-fence", str(tmp_path / "a.txt"), str(out))
    assert result.exit_code == 1
    assert (out / "a.txt").read_bytes() == (tmp_path / "a.txt").read_bytes()
    assert run("audit", "-j1", "--fresh", str(tmp_path / "a.txt"), str(out)).exit_code == 0
    assert _report(out, "audit")["tally"]["calls"] == {"hermes": 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("audit", "{in}"), "name what to read"),
        (("convert", "-j1", "--to", "hermes"), "name what to read"),
        (("audit", "--field", "a..b", "{in}", "{out}"), "no path to texts"),
        (("audit", "--policy", "{in}", "{in}", "{out}"), "not TOML"),
        (("stats", "-d", "nothing", "{in}", "{out}"), "no dialect"),
    ],
)
def test_a_mistake_is_usage(
    corpus: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    names = {"in": str(corpus), "out": str(tmp_path / "out")}
    result = run(*(one.format(**names) if one[0] == "{" else one for one in arguments))
    assert result.exit_code == 2, result.output
    assert words in result.stderr


def test_progress_says_rate_and_time_left() -> None:
    words = progress_words(
        Progress(done=500_000_000, before=100_000_000, total=2_000_000_000, seconds=40)
    )
    assert words == " 25%  500 of 2,000 MB  10.0 MB/s  2:30 left"
    assert progress_words(Progress(0, 0, 0, 0)).endswith("MB/s")
    long = Progress(done=1, before=0, total=36_001, seconds=1)
    assert progress_words(long).endswith("10 h 0:00 left")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a/../b", "b"),
        ("./a", "a"),
        ("../a", None),
        ("/etc/passwd", None),
        ("a\\..\\..\\b", None),
        ("~/a", None),
        ("a\0b", None),
    ],
)
def test_a_path_is_judged_by_its_text(path: str, found: str | None) -> None:
    assert lexical(path) == found
