"""Reading what a model writes as a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.times import lines_of, point_of, read_rule, read_time, settle
from callblocks.toolkits.office.tools.task_tools import read_day

MOMENTS = st.datetimes(datetime(1, 1, 4), datetime(9999, 12, 27))
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(MOMENTS, OFFSETS, st.sampled_from("T t "))
def test_what_python_writes_is_read(moment: datetime, offset: timezone, between: str) -> None:
    whole = moment.replace(microsecond=0, tzinfo=offset)
    assert read_time(whole.isoformat(sep=between), "start").value == whole


@given(MOMENTS, st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]))
def test_a_settled_time_is_read_as_itself(moment: datetime, zone: str) -> None:
    text = moment.isoformat(timespec="seconds")
    settled = settle(read_time(text, "start"), zone)
    assert settle(read_time(point_of(settled), "start"), "Asia/Tokyo") == settled


@given(st.dates(date(1, 1, 4), date(9999, 12, 27)))
def test_a_day_is_read(day: date) -> None:
    assert read_time(day.isoformat(), "start").value == day
    assert point_of(read_time({"date": day.isoformat()}, "start")) == {"date": day.isoformat()}


@given(st.text() | st.from_regex(r"[0-9TZ:+ -]{4,30}", fullmatch=True))
@example("0001-01-01T00:00:00+14:00")
@example("9999-12-31T23:59:59-14:00")
@example("0000-01-01")
def test_any_text_is_a_time_or_refused_by_its_field(text: str) -> None:
    refused: ToolError | None = None
    try:
        assert settle(read_time(text, "timeMin"), "Europe/Berlin").is_settled
    except ToolError as error:
        refused = error
    if refused:
        assert (refused.code, list(refused.details)) == ("invalid_input", ["timeMin"])


@pytest.mark.parametrize(
    ("text", "zone", "utc"),
    [
        # The clocks go from two to three: half past two is an hour later there.
        ("2026-03-29 02:30", "Europe/Berlin", "2026-03-29T01:30:00+00:00"),
        # And from three to two: the first half past two is meant.
        ("2026-10-25 02:30", "Europe/Berlin", "2026-10-25T00:30:00+00:00"),
        ("2026-10-25T02:30:00+01:00", "Europe/Berlin", "2026-10-25T01:30:00+00:00"),
        ("2026-07-01 12:00", "Asia/Kolkata", "2026-07-01T06:30:00+00:00"),
        ("2026-07-01 12:00 UTC", "Asia/Kolkata", "2026-07-01T12:00:00+00:00"),
    ],
)
def test_a_time_has_the_offset_of_its_zone_then(text: str, zone: str, utc: str) -> None:
    value = settle(read_time(text, "start"), zone).value
    assert isinstance(value, datetime)
    assert value.astimezone(UTC).isoformat() == utc
    assert isinstance(value.tzinfo, ZoneInfo)


@pytest.mark.parametrize(
    "given",
    [
        {"dateTime": "2026-11-16T14:00:00", "date": "2026-11-16"},
        {"dateTime": None},
        {"dateTime": 5},
        {"when": "2026-11-16"},
        {"dateTime": "2026-11-16T14:00:00", "timeZone": "Nowhere"},
        {"dateTime": "2026-11-16T14:00:00", "timeZone": 5},
    ],
)
def test_an_object_that_is_none_of_googles_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as caught:
        read_time(given, "end")
    assert caught.value.code == "invalid_input"
    assert list(caught.value.details) == ["end"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("freq=weekly; byday=mo,we", "FREQ=WEEKLY;BYDAY=MO,WE"),
        ("BYDAY=-1FR;FREQ=MONTHLY;COUNT=3;", "FREQ=MONTHLY;COUNT=3;BYDAY=-1FR"),
        ("FREQ=DAILY;UNTIL=2026-12-31T22:59:59Z", "FREQ=DAILY;UNTIL=20261231T225959Z"),
        ("FREQ=YEARLY;INTERVAL=1;WKST=SU", "FREQ=YEARLY;WKST=SU"),
    ],
)
def test_a_rule_is_written_the_usual_way(text: str, written: str) -> None:
    assert read_rule(text).text() == written
    assert read_rule(written).text() == written


@given(st.text() | st.from_regex(r"FREQ=[A-Z]+(;[A-Z]{2,8}=[A-Z0-9,+-]{1,9}){0,3}", fullmatch=True))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = read_rule(text)
    except ValueError:
        return
    assert read_rule(rule.text()) == rule


def test_lines_come_as_a_list_or_as_one_text() -> None:
    wanted = ["RRULE:FREQ=DAILY", "EXDATE:20261116"]
    assert lines_of("FREQ=DAILY\n\n EXDATE:20261116 ") == wanted
    assert lines_of(["RRULE:FREQ=DAILY", "EXDATE:20261116\n"]) == wanted
    assert lines_of("") == []


@pytest.mark.parametrize("read", [read_time, read_day])
def test_a_word_for_a_day_is_refused_with_the_day_that_it_is(
    monkeypatch: pytest.MonkeyPatch, read: Any
) -> None:
    monkeypatch.setattr("callblocks.toolkits.office.times.today", lambda: date(2026, 11, 16))
    with pytest.raises(ToolError) as raised:
        read("tomorrow", "due")
    assert "; today is Monday 2026-11-16; write 2026-11-17" in raised.value.message
    assert raised.value.details["due"] in raised.value.message
