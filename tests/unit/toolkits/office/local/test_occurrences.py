"""When a series happens: the same as other programs say, and never for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.calendar.calendars import LocalCalendars
from callblocks.toolkits.office.local.calendar.occurrences import Counting, Work, steps
from callblocks.toolkits.office.local.calendar.series import Series, Window, occurrences, span_of
from callblocks.toolkits.office.times import read_rule

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC", "Africa/Casablanca")


def series(start: Json, end: Json, *lines: str) -> Series:
    event = {"start": start, "end": end, "status": "confirmed", "recurrence": list(lines)}
    return Series("seri1", "seri1", event)


def timed(local: str, zone: str, *lines: str, minutes: int = 60) -> Series:
    end = (datetime.fromisoformat(local) + timedelta(minutes=minutes)).isoformat()
    start, last = ({"dateTime": one, "timeZone": zone} for one in (local, end))
    return series(start, last, *lines)


def begins(one: Series, low: str, high: str, most: int = 1000) -> list[datetime]:
    window = Window(*(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (low, high)))
    found = occurrences(one, window, "UTC", Counting())
    return [each.start for each in islice(found, most)]


SOME = ("", "BYDAY=MO,TH", "BYMONTHDAY=1,15,-1", "BYMONTH=2,3,10", "BYHOUR=2,9;BYMINUTE=30,5")
PARTS = {
    "YEARLY": (
        *SOME,
        "BYYEARDAY=1,60,366,-1",
        "BYWEEKNO=2,20,51;BYDAY=MO,SU",
        "BYWEEKNO=-1;BYDAY=WE;WKST=SU",
        "BYDAY=1MO,-1FR,20TU",
        "BYDAY=2SU;BYMONTH=3,11",
        "BYMONTH=4;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-2",
        "BYMONTHDAY=29;BYMONTH=2",
    ),
    "MONTHLY": (*SOME, "BYDAY=1MO,-1FR", "BYDAY=SA,SU;BYSETPOS=-1", "BYMONTHDAY=31", "WKST=SU"),
    "WEEKLY": (*SOME, "BYDAY=SU,MO;WKST=SU", "BYDAY=SU,MO;WKST=MO", "BYSECOND=0,7"),
    "DAILY": (*SOME, "BYDAY=TU;BYHOUR=1,5;BYSETPOS=2", "BYYEARDAY=5,200", "BYMINUTE=0,59"),
    "HOURLY": ("", "BYDAY=MO", "BYHOUR=9,17", "BYMINUTE=0,45;BYSETPOS=-1", "BYMONTH=1"),
    "MINUTELY": ("", "BYHOUR=9", "BYMINUTE=0,13,30", "BYSECOND=0,30", "BYMONTHDAY=3"),
    "SECONDLY": ("", "BYMINUTE=7", "BYSECOND=0,15", "BYHOUR=3;BYMINUTE=0", "BYDAY=FR"),
}
RULES = st.builds(
    lambda freq, interval, part, end: ";".join(
        text for text in (f"FREQ={freq[0]}", interval, freq[1][part % len(freq[1])], end) if text
    ),
    st.sampled_from(list(PARTS.items())),
    # Coprime to all that a rule may name, so that each of them fires.
    st.sampled_from(["", "INTERVAL=1", "INTERVAL=11", "INTERVAL=13"]),
    st.integers(0, 50),
    st.sampled_from(["", "", "COUNT=1", "COUNT=9", "UNTIL=20270601T000000Z"]),
)
STARTS = st.datetimes(datetime(2024, 1, 1), datetime(2026, 12, 31)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)


@settings(max_examples=150)
@given(STARTS, RULES)
def test_a_rule_fires_when_another_library_says(begin: datetime, rule: str) -> None:
    read = read_rule(rule)
    end = datetime(2045, 1, 1)
    ours = (one for one in steps(read, begin, 0, end, Work(10**9)) if one <= end)
    theirs = rrulestr(
        read_rule(rule.partition(";COUNT")[0].partition(";UNTIL")[0]).text(), dtstart=begin
    )
    theirs = (one for one in takewhile(lambda one: one <= end, theirs))
    assert list(islice(ours, 40)) == list(islice(theirs, 40))


@pytest.mark.parametrize("week", [1, 52, 53])
def test_weeks_at_the_turn_of_a_year_are_those_of_the_standard(week: int) -> None:
    begin, end = datetime(2020, 1, 1), datetime(2045, 1, 1)
    rule = read_rule(f"FREQ=YEARLY;BYWEEKNO={week};BYDAY=MO,SU")
    fired = {one for one in steps(rule, begin, 0, end, Work(10**6)) if one < end}
    days = (begin + timedelta(days=at) for at in range((end - begin).days))
    wanted = {one for one in days if one.isocalendar()[1:] in ((week, 1), (week, 7))}
    assert fired == wanted


@given(STARTS, st.sampled_from(ZONES), RULES, st.integers(0, 900))
def test_asking_later_finds_the_same_as_asking_for_all(
    start: datetime, zone: str, rule: str, after: int
) -> None:
    one = timed(start.isoformat(), zone, f"RRULE:{rule}")
    whole = begins(one, "2023-01-01", "2045-01-01", 200)
    moment = whole[after % len(whole)]
    expected = [each for each in whole if each + timedelta(hours=1) > moment]
    low = moment.replace(tzinfo=None).isoformat()
    assert begins(one, low, "2045-01-01", len(expected)) == expected


@given(STARTS, st.sampled_from(ZONES), RULES)
def test_the_index_looks_no_further_than_a_series_goes(
    start: datetime, zone: str, rule: str
) -> None:
    one = timed(start.isoformat(), zone, f"RRULE:{rule}")
    first, last = span_of(one, Work(100_000))
    for begin in begins(one, "2023-01-01", "2040-01-01", 500):
        assert first <= begin.timestamp() <= last


@pytest.mark.parametrize(
    ("rule", "low"),
    [
        ("FREQ=SECONDLY", "2026-01-01"),
        ("FREQ=SECONDLY", "2126-01-01"),
        ("FREQ=SECONDLY;COUNT=999999999", "2040-01-01"),
        ("FREQ=MINUTELY;COUNT=1000000000", "2900-01-01"),
        ("FREQ=DAILY;COUNT=1000000000", "2900-01-01"),
        ("FREQ=WEEKLY;BYDAY=MO", "9000-01-01"),
        ("FREQ=MONTHLY;BYDAY=2TU", "9000-01-01"),
        ("FREQ=YEARLY", "9000-01-01"),
    ],
)
def test_a_rule_without_end_costs_no_more_than_what_is_taken(rule: str, low: str) -> None:
    one = timed("2026-01-01T09:00:00", "Europe/Berlin", f"RRULE:{rule}")
    counting = Counting()
    window = Window(datetime.fromisoformat(low).replace(tzinfo=UTC))
    found = list(islice(occurrences(one, window, "UTC", counting), 20))
    assert len(found) == 20
    assert counting.given_up == set()


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY;BYSECOND=1;BYSETPOS=2",
        "FREQ=MINUTELY;BYHOUR=3;BYSETPOS=5",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=5",
        "FREQ=SECONDLY;BYHOUR=3;BYSETPOS=2;COUNT=1000000000",
        "FREQ=YEARLY;INTERVAL=2147483647",
        "FREQ=WEEKLY;INTERVAL=2147483647;COUNT=2147483647",
    ],
)
@pytest.mark.parametrize("low", ["2026-01-02", "9000-01-01"])
def test_a_rule_that_hardly_fires_is_given_up(rule: str, low: str) -> None:
    one = timed("2026-01-01T09:00:00", "Europe/Berlin", f"RRULE:{rule}")
    assert begins(one, low, "9999-12-29", 3) == []


def test_the_rules_of_one_file_have_their_work_together() -> None:
    one = timed("2026-01-01T09:00:00", "Europe/Berlin", "RRULE:FREQ=DAILY")
    counting = Counting({"seri1": "a.ics", "other": "a.ics", "third": "b.ics"})
    never = timed("2026-01-01T09:00:00", "UTC", "RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30")
    costly = msgspec.structs.replace(never, id="other")
    assert list(occurrences(costly, Window(), "UTC", counting))[1:] == []
    assert list(occurrences(one, Window(), "UTC", counting)) == []
    assert counting.given_up == {"seri1", "other"}
    spared = msgspec.structs.replace(one, id="third")
    assert len(list(islice(occurrences(spared, Window(), "UTC", counting), 9))) == 9


def test_a_given_up_series_is_told(tmp_path: Path) -> None:
    calendars = LocalCalendars(tmp_path / "office")
    point: Json = {"dateTime": "2026-01-01T09:00:00", "timeZone": "UTC"}
    rule = ["RRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30"]
    fields = {"id": "odd11", "start": point, "end": point, "recurrence": rule}
    calendars.create("primary", fields, notify="none")
    asked: Any = {"query": "", "single": True, "zone": "", "limit": 5, "page": ""}
    page = calendars.events("primary", time_min="2026-02-01T00:00:00Z", time_max="", **asked)
    assert page.items == []
    assert "odd11" in page.faults[0]


def test_a_time_that_the_clocks_skip_is_an_hour_later() -> None:
    one = timed("2026-03-27T02:30:00", "Europe/Berlin", "RRULE:FREQ=DAILY;COUNT=4")
    hours = [f"{each:%d %H:%M}" for each in begins(one, "2026-03-01", "2026-04-30")]
    assert hours == ["27 01:30", "28 01:30", "29 01:30", "30 00:30"]


def test_an_hourly_rule_leaves_out_what_the_clocks_skip() -> None:
    one = timed("2026-03-29T00:30:00", "Europe/Berlin", "RRULE:FREQ=HOURLY;UNTIL=20260329T023000Z")
    found = begins(one, "2026-03-01", "2026-04-30")
    assert [f"{each:%H:%M}" for each in found] == ["23:30", "00:30", "01:30", "02:30"]


def test_an_occurrence_is_as_long_as_ever_when_the_clocks_change() -> None:
    one = timed("2026-10-23T22:00:00", "Europe/Berlin", "RRULE:FREQ=DAILY;COUNT=3", minutes=480)
    found = list(occurrences(one, Window(), "UTC", Counting()))
    ends = [each.event["end"]["dateTime"] for each in found]
    assert ends == [
        "2026-10-24T06:00:00+02:00",
        "2026-10-25T05:00:00+01:00",
        "2026-10-26T06:00:00+01:00",
    ]


def test_a_rule_until_the_last_year_is_one_without_end() -> None:
    for until in ("99991231", "99991231T235959Z"):
        one = timed("2026-03-27T02:30:00", "Europe/Berlin", f"RRULE:FREQ=DAILY;UNTIL={until}")
        assert len(begins(one, "2500-01-01", "2500-01-03")) == 2


def test_days_have_no_zone() -> None:
    one = series({"date": "2026-03-28"}, {"date": "2026-03-29"}, "RRULE:FREQ=DAILY;COUNT=3")
    found = list(occurrences(one, Window(), "Pacific/Auckland", Counting()))
    assert [each.event["start"]["date"] for each in found] == [
        "2026-03-28",
        "2026-03-29",
        "2026-03-30",
    ]
