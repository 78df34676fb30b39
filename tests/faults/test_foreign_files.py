"""Files of others that cost more than they show: each parser has a limit, and it answers.

`docs/foreign-files.md` lists the parsers; every row names a test here. Work is counted, never
timed: a parser that runs away is ended by its count (`support.work_counter`).
"""

from __future__ import annotations

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.parsing.values.yaml_core import YamlError
from callblocks.parsing.values.yaml_core import load as load_yaml
from callblocks.timeline.artifacts import validate as wholeness
from callblocks.toolkits.documents.pdf import picture
from callblocks.toolkits.documents.runs import formula_mathml
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.local.mail.mail_resource import (
    Damaged,
    header_values,
    payload_of,
    read_mail,
)
from callblocks.toolkits.office.mail_text import html_text, text_of_mail
from callblocks.toolkits.search.chunks import MOST, Part
from callblocks.toolkits.search.text_readers import read_csv
from callblocks.toolkits.search.text_readers import read_markdown as search_markdown
from callblocks.toolkits.web.fetch import read_rules
from support.google.calling import Calling
from support.work_counter import at_most

NEVER = "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"
GOOD = ("UID:goodone", "SUMMARY:good", "DTSTART:20260105T090000Z", "RRULE:FREQ=WEEKLY")


def event(*lines: str, uid: str = "badone", start: str = "DTSTART:20260101T090000Z") -> list[str]:
    return ["BEGIN:VEVENT", f"UID:{uid}", "SUMMARY:bad", start, *lines, "END:VEVENT"]


def zone(name: str, rule: str) -> list[str]:
    return [
        *("BEGIN:VTIMEZONE", f"TZID:{name}", "BEGIN:STANDARD", "DTSTART:16010101T000000"),
        *(f"RRULE:{rule}", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200"),
        *("END:STANDARD", "END:VTIMEZONE"),
    ]


def calendar_file(*lines: str) -> bytes:
    whole = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:x", *lines, "END:VCALENDAR", "")
    return "\r\n".join(whole).encode()


class Office:
    """A local office whose calendar has one good series beside the file of an attacker."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "office"
        self.calendar = self.folder / "calendar" / "primary"
        self.calendar.mkdir(parents=True)
        (self.calendar / "good.ics").write_bytes(calendar_file("BEGIN:VEVENT", *GOOD, "END:VEVENT"))
        self.call = Calling(LocalOffice(self.folder), Root(tmp_path))
        # The first call imports much; what the attacker's file costs is counted afterwards.
        self.events()

    def events(self, **asked: Any) -> list[str]:
        """The titles of the events of two months."""
        window = {"timeMin": "2026-01-01", "timeMax": "2026-02-28"}
        page = self.call("calendar_events", **(window | asked))
        return [str(one["summary"]) for one in page["items"]]

    @property
    def notices(self) -> str:
        return "\n".join(f"{one.code}: {one.message}" for one in self.call.context.notices)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


ODD = "DTSTART;TZID=Odd:20260101T090000"
BOMBS = {
    "zones that change each second": [
        *zone("Odd", "FREQ=SECONDLY"),
        *zone("Odd2", "FREQ=SECONDLY"),
        *event(start=ODD),
        *event(start=ODD.replace("Odd", "Odd2"), uid="second"),
    ],
    "very many zones": [
        *(line for at in range(500) for line in zone(f"Odd{at}", NEVER)),
        *(
            line
            for at in range(500)
            for line in event(start=ODD.replace("d:", f"d{at}:"), uid=f"u{at}")
        ),
    ],
    "a zone that counts": [
        *zone("Odd", "FREQ=YEARLY;BYMONTHDAY=1,2,3,4,5;COUNT=99999"),
        *event(start=ODD),
    ],
    "a zone of many parts": [
        *zone("Odd", "FREQ=YEARLY")[:2],
        *(zone("Odd", "FREQ=YEARLY")[2:-1] * 300),
        "END:VTIMEZONE",
        *event(start=ODD),
    ],
    "500 rules": event(*["RRULE:FREQ=DAILY"] * 500),
    "a rule of many numbers": event(f"RRULE:FREQ=DAILY;BYHOUR={','.join('1' * 5000)}"),
    "many times": event("EXDATE:" + ",".join(["20260101T090000Z"] * 5000), "RRULE:FREQ=DAILY"),
    "parts within each other": ["BEGIN:VEVENT"] * 500 + ["END:VEVENT"] * 500,
    "a giant line": event("DESCRIPTION:" + "a" * 1_100_000),
    "folded lines": event("DESCRIPTION:a" + "\r\n a" * 1_100_000),
    "parameters": event("DESCRIPTION" + ";A=b" * 20_000 + ":x"),
    "many lines": event(*["ATTENDEE:mailto:a@example.org"] * 5_000),
    "costly series": [
        line
        for at in range(60)
        for line in event(f"RRULE:FREQ=SECONDLY;BYHOUR={at % 24};BYSETPOS=2", uid=f"u{at}")
    ],
    "a length beyond the calendar": event("DURATION:P999999999D", "RRULE:FREQ=SECONDLY"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_calendar_file_that_costs_too_much_is_told_and_hides_no_event(
    office: Office, bomb: str
) -> None:
    (office.calendar / "bad.ics").write_bytes(calendar_file(*BOMBS[bomb]))
    with at_most(1_000_000):
        found = office.events(maxResults=100)
    assert found.count("good") == 8
    assert "primary/bad.ics" in office.notices


def test_an_occurrence_beyond_the_last_year_is_not_there(office: Office) -> None:
    lines = event("DTEND:99991231T235959Z", "RRULE:FREQ=SECONDLY")
    (office.calendar / "bad.ics").write_bytes(calendar_file(*lines))
    with pytest.raises(ToolError) as refused:
        office.call("calendar_update", eventId="badone_20260102T090000Z", summary="x")
    assert refused.value.code == "not_found"


def test_a_rule_that_never_fires_ends(office: Office) -> None:
    rules = [f"RRULE:{NEVER};COUNT=900"] * 20
    (office.calendar / "bad.ics").write_bytes(calendar_file(*event(*rules)))
    with at_most(1_000_000):
        found = office.events(timeMax="9000-01-01", maxResults=20)
    assert found.count("good") >= 8


MANY = {
    "rules that never fire": event(*[f"RRULE:{NEVER};COUNT=900"] * 20),
    "zones that never change": [
        *(line for at in range(4) for line in zone(f"Odd{at}", NEVER)),
        *(
            line
            for at in range(4)
            for line in event(start=ODD.replace("Odd", f"Odd{at}"), uid=f"u{at}")
        ),
    ],
}


@pytest.mark.parametrize("bomb", MANY)
def test_many_files_share_what_reading_them_may_cost(office: Office, bomb: str) -> None:
    for at in range(60):
        (office.calendar / f"bad{at}.ics").write_bytes(calendar_file(*MANY[bomb]))
    with at_most(2_500_000):
        found = office.events(maxResults=100)
    assert found.count("good") == 8


def test_a_zone_of_a_file_changes_by_its_rules(office: Office) -> None:
    ship = [
        *("BEGIN:VTIMEZONE", "TZID:Ship", "BEGIN:STANDARD", "DTSTART:16011028T030000"),
        *("RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "TZOFFSETFROM:+0200", "TZOFFSETTO:+0100"),
        *("END:STANDARD", "BEGIN:DAYLIGHT", "DTSTART:16010325T020000"),
        *("RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200"),
        *("END:DAYLIGHT", "END:VTIMEZONE"),
    ]
    days = ("20260115", "20260329", "20260715", "20261025", "20261215")
    events = [
        line
        for day in days
        for line in event(uid=f"on{day}", start=f"DTSTART;TZID=Ship:{day}T120000")
    ]
    (office.calendar / "ship.ics").write_bytes(calendar_file(*events, *ship))
    page = office.call("calendar_events", timeMin="2026-01-01", timeMax="2026-12-31", query="bad")
    starts = [datetime.fromisoformat(str(one["start"]["dateTime"])) for one in page["items"]]
    hours = {"20260115": 11, "20260329": 10, "20260715": 10, "20261025": 11, "20261215": 11}
    assert {f"{one:%Y%m%d}": one.astimezone(UTC).hour for one in starts} == hours


def test_a_file_with_a_part_left_out_is_not_written(office: Office) -> None:
    file = office.calendar / "bad.ics"
    file.write_bytes(
        calendar_file(*event(uid="small1"), *event(*["RRULE:FREQ=DAILY"] * 500, uid="large1"))
    )
    before = file.read_bytes()
    failure = office.call.failure("calendar_update", eventId="small1", summary="new")
    assert (failure, file.read_bytes()) == ("workspace_damaged", before)


def test_a_bad_zone_stays_as_it_is_when_another_event_is_changed(office: Office) -> None:
    file = office.calendar / "bad.ics"
    odd = [*zone("Odd", "FREQ=SECONDLY"), *event(start=ODD), *event(uid="small1")]
    file.write_bytes(calendar_file(*odd))
    with at_most(1_000_000):
        office.call("calendar_update", eventId="small1", summary="new")
    written = file.read_bytes()
    assert b"SUMMARY:new" in written
    assert b"RRULE:FREQ=SECONDLY" in written
    assert ODD.encode() in written


HEAD = b"From: ada@example.org\r\nSubject: hostile\r\n"
PUNYCODE = b"a" * 9_000 + b"-" + b"b" * 9_000
MAILS = {
    "parts within each other": b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (at, at)
        for at in range(2_000)
    ),
    "mails within each other": b"Content-Type: message/rfc822\r\n\r\n" * 2_000,
    "many parts": b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
    + b"--b\r\n\r\nx\r\n" * 30_000,
    "many headers": b"X: y\r\n" * 6_000 + b"\r\nx",
    "folded headers": b"X: a" + b"\r\n b" * 20_000 + b"\r\n\r\nx",
    "encoded words": b"X: " + b"=?utf-8?q?a?= " * 20_000 + b"\r\n\r\nx",
    "words without an end": b"X: " + b"=?utf-8?q?" * 20_000 + b"\r\n\r\nx",
    "a word in punycode": b"X: =?punycode?q?" + PUNYCODE + b"?=\r\n\r\nx",
    "packed text": b"Content-Type: text/plain; charset=zlib\r\n\r\n" + zlib.compress(b"0" * 10**7),
    "text in punycode": b"Content-Type: text/plain; charset=punycode\r\n\r\n" + PUNYCODE,
    "base64": b"Content-Transfer-Encoding: base64\r\n\r\n" + b"QUJD\r\n" * 50_000,
}


@pytest.mark.parametrize("case", MAILS)
def test_a_mail_of_any_shape_is_read_within_its_limits(case: str) -> None:
    with at_most(500_000):
        mail = read_mail(HEAD + MAILS[case])
        headers = header_values(mail)
        text = text_of_mail({"payload": payload_of(mail)})
    assert ("Subject", "hostile") in headers
    assert len(headers) <= 500
    assert len(text.text) <= 1_000_000


def test_a_mail_with_a_header_of_very_many_parameters_is_no_mail() -> None:
    raw = HEAD + b"Content-Type: text/plain" + b"; a=b" * 20_000 + b"\r\n\r\nx"
    with at_most(10_000), pytest.raises(Damaged):
        read_mail(raw)


@pytest.mark.parametrize(
    "part",
    [
        "<",
        "<a ",
        "<!--",
        "<script>",
        "&",
        "&#1",
        '<a href="',
        "<div>",
        " \n",
        "<a href= ",
        "<p title='",
    ],
)
def test_the_html_of_a_mail_is_read_in_linear_work(part: str) -> None:
    with at_most(600_000):
        html_text(part * 6_000)


@pytest.mark.parametrize("part", ["#", "# a\n", "```\n", "a\n=\n", " ", "<!--", "[a]: b\n"])
def test_markdown_for_the_index_is_read_line_by_line(part: str) -> None:
    with at_most(600_000):
        search_markdown(part * 6_000)


@pytest.mark.parametrize(
    "text", ["," * 100_000, '"' * 300_000, "a\n" * 30_000, '"' + "a" * 300_000]
)
def test_a_table_without_an_end_is_read_or_refused(text: str) -> None:
    parts: list[Part] = []
    with at_most(600_000), suppress(ToolError):
        _, parts = read_csv(text)
    assert len(parts) <= MOST


def packed_zip(parts: int, size: int) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as package:
        for at in range(parts):
            package.writestr(str(at), b"")
        package.writestr("bomb", b"0" * size)
    return written.getvalue()


def packed_gzip(size: int) -> bytes:
    return gzip.compress(b"0" * size, 1)


@pytest.mark.parametrize(
    ("mime", "made"),
    [
        ("application/zip", partial(packed_zip, 2_000, 1 << 20)),
        ("application/gzip", partial(packed_gzip, 1 << 27)),
        (
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            partial(packed_zip, 1, 1 << 27),
        ),
    ],
)
def test_a_packed_file_is_unpacked_only_up_to_its_limit(
    mime: str, made: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wholeness, "UNPACKED", 1 << 20)
    content = made()
    tracemalloc.start()
    try:
        with at_most(500_000):
            wholeness.fault_in(mime, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


def png_chunk(kind: bytes, content: bytes) -> bytes:
    whole = kind + content
    return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))


WIDE = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 6, 0, 0, 0)
PIXELS = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", WIDE)
PIXELS += png_chunk(b"IDAT", zlib.compress(b"\0" * 100)) + png_chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("mime", "content"),
    [
        ("image/png", PIXELS),
        ("image/png", PIXELS[:33] + png_chunk(b"iTXt", b"") * 30_000),
        ("image/jpeg", b"\xff\xd8" + b"\xff\xfe\0\2" * 30_000),
        ("image/jpeg", b"\xff\xd8" + b"\xff" * 30_000),
        ("image/gif", b"GIF89a" + b"\0" * 7 + b"!\xfe\0" * 30_000),
        ("image/webp", b"RIFF\0\0\0\0WEBP" + b"VP8X\0\0\0\0" * 30_000),
    ],
)
def test_a_picture_is_checked_without_being_decoded(mime: str, content: bytes) -> None:
    with at_most(1_000_000):
        wholeness.fault_in(mime, content)


class _Outside:
    """A place with one file, for a document."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.told: list[str] = []

    def file(self, name: str) -> bytes | None:
        return self.content

    def tell(self, code: str, *_: Any, **__: Any) -> None:
        self.told.append(code)


def test_a_picture_of_too_many_pixels_is_told_and_left_out() -> None:
    outside: Any = _Outside(PIXELS)
    assert picture("wide.png", outside) is None
    assert outside.told == ["image_broken"]


@pytest.mark.parametrize(
    "tex", ["{" * 1_900, "\\frac" * 300, "^" * 1_900, "\\left(" * 300, "x" * 9_000]
)
def test_a_formula_without_an_end_is_told_and_left_out(tex: str) -> None:
    outside: Any = _Outside(b"")
    with at_most(3_000_000):
        formula_mathml(tex, outside)
    assert len(tex) <= 2_000 or outside.told


@pytest.mark.parametrize(
    "rules",
    [
        "Disallow: /" + "*a" * 1_000 + "$\n",
        "Disallow: /a*b*c*\n" * 2_000,
        "User-agent: *\n" * 5_000,
    ],
)
def test_the_rules_of_a_site_are_read_in_bounded_work(rules: str) -> None:
    with at_most(1_000_000):
        read_rules("User-agent: *\n" + rules).can_fetch("/" + "a" * 2_000, "callblocks")


@pytest.mark.parametrize("text", ["[" * 50_000, "- " * 20_000, "a: &a [*a]", "1" * 100_000])
def test_yaml_of_a_model_is_refused_beyond_its_limits(text: str) -> None:
    with at_most(1_000_000), pytest.raises(YamlError):
        load_yaml(text)
