"""The counts of a corpus as sections: for a terminal, as JSON, and as one page with plots."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callblocks.bulk.execute import Done
from callblocks.bulk.tally import Tally, saved, top
from callblocks.views.report_sections import Bar, Bars, Section, Table

__all__ = ("as_json", "audit_sections", "convert_sections", "stats_sections")

_MOST = 20


def audit_sections(tally: Tally) -> list[Section]:
    """Return which dialects, calls, problems, repairs, tools and verdicts a corpus holds."""
    sections = [Section("Corpus", [Table((), _corpus(tally))])]
    sections += _counted("Dialects", "calls by dialect", tally.calls)
    if tally.calls:
        rows = [
            (("10 or more" if n == 10 else str(n)), m) for n, m in sorted(tally.per_text.items())
        ]
        cells = [[name, _number(count)] for name, count in rows]
        parts = [_bars("texts by the calls in them", rows), Table(["calls", "texts"], cells)]
        sections.append(Section("Calls in a text", parts))
    sections += _counted("Tools", "calls by tool", tally.tools)
    sections += _counted("Repairs and problems", "by code", tally.problems, tally)
    sections += _counted("No calls", "blocks that are none, by code", tally.malformed, tally)
    sections += _counted("Unknown tools", "calls of tools that were not declared", tally.unknown)
    sections += _counted("Inputs that do not fit", "calls by tool", tally.unfit)
    sections += _counted("Verdicts", "calls by what the policy says", tally.verdicts)
    sections += _counted("Rules", "calls by what decided", tally.rules)
    sections += _counted("Unreadable", "records by code", tally.faulty, tally)
    return sections


def stats_sections(tally: Tally, baseline: str, price: float) -> list[Section]:
    """Return what callblocks would have saved over a strict reader of one dialect."""
    one = saved(tally, baseline)
    if not one.calls and not one.native:
        return [Section("Nothing to save", ["No calls stand in these texts."])]
    rows = [
        ("calls in texts", _number(one.calls)),
        (f"read by a strict reader of {one.baseline or 'no dialect'}", _share(one.got, one.calls)),
        ("read by callblocks besides", _share(one.calls - one.got, one.calls)),
        ("  after a repair", _share(one.repaired, one.calls)),
        ("  in another dialect", _share(one.others, one.calls)),
        ("texts that lose a call without it", _share(one.lost_texts, tally.with_calls)),
        ("tokens to write these texts again", f"about {_number(one.lost_tokens)}"),
    ]
    if price:
        rows.append(("what that costs", f"{one.lost_tokens * price / 1e6:,.2f}"))
    rows += [
        ("such texts that the log repeats", _number(one.repeats)),
        ("texts with a block that is no call", _number(one.told_texts)),
        ("calls in the text of a message without tool_calls", _number(one.in_content)),
    ]
    if one.native:
        rows += [
            ("native calls", _number(one.native)),
            ("  whose arguments are no JSON object", _share(one.native_faults, one.native)),
            ("  of these, mended", _share(one.native_mended, one.native_faults)),
        ]
    plot = _bars(
        "calls by who reads them",
        [
            (f"a strict reader of {one.baseline}", one.got),
            ("callblocks, after a repair", one.repaired),
            ("callblocks, another dialect", one.others),
        ],
    )
    method = (
        "A strict reader takes the calls of its one dialect that need no repair. A text that loses "
        "a call has to be written again; its tokens are counted as a quarter of its characters. A "
        "block that is no call is not counted as saved: callblocks tells the model what is wrong."
    )
    strict = _counted("Strict readers", "calls that each would get", tally.clean)
    return [Section("What callblocks would have saved", [plot, Table((), rows), method]), *strict]


def convert_sections(done: Done) -> list[Section]:
    """Return what was converted, and what the target cannot say."""
    tally = done.tally
    rows = [
        *_corpus(tally),
        ("texts converted", _number(tally.converted)),
        ("texts that stay, or lost something", _number(sum(tally.kept.values()))),
        ("files written", _number(len(done.files))),
        ("bytes written", _number(sum(file.size for file in done.files))),
    ]
    sections = [Section("Converted", [Table((), rows)])]
    return sections + _counted("Not to be said", "by what the dialect cannot", tally.kept)


def as_json(done: Done, **more: object) -> bytes:
    """Return a report for programs. It has no times: two runs of one job give equal bytes."""
    value = {
        "version": 1,
        **more,
        "tally": msgspec.to_builtins(done.tally, str_keys=True),
        "files": [msgspec.to_builtins(file) for file in done.files],
        "failed": dict(sorted(done.failed.items())),
    }
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=1) + b"\n"


def _corpus(tally: Tally) -> list[tuple[str, str]]:
    calls = sum(tally.calls.values())
    return [
        ("records", _number(tally.records)),
        ("texts of a model", _number(tally.texts)),
        ("characters in them", _number(tally.chars)),
        ("records without such a text", _number(tally.without_text)),
        ("texts with calls", _share(tally.with_calls, tally.texts)),
        ("calls", _number(calls)),
        ("calls that were repaired", _share(tally.repaired, calls)),
        ("calls that the text's end cut off", _share(tally.unended, calls)),
        ("records that cannot be read", _number(sum(tally.faulty.values()))),
    ]


def _counted(
    title: str, about: str, counts: Mapping[str, int], tally: Tally | None = None
) -> list[Section]:
    """Return a section with a plot and a table; none where nothing was counted."""
    if not counts:
        return []
    rows, total = top(counts, _MOST), sum(counts.values())
    head = ["", "count", "share"]
    cells = [[name, _number(count), f"{count / total:.1%}"] for name, count in rows]
    if tally is not None:
        head.append("for example")
        for (name, _), line in zip(rows, cells, strict=True):
            line.append(", ".join(tally.samples.get(name, ())))
    return [Section(title, [_bars(about, rows), Table(head, cells)])]


def _bars(about: str, rows: list[tuple[str, int]]) -> Bars:
    return Bars(about, [Bar(name, count, _number(count)) for name, count in rows])


def _number(count: int) -> str:
    return f"{count:,}"


def _share(count: int, of: int) -> str:
    return f"{count:,} ({count / of:.1%})" if of else f"{count:,}"
