from __future__ import annotations

import dataclasses
import json
import math
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import AfterValidator, AnyUrl, BaseModel, Field

from callblocks.tools.check import MAX_FAULTS, MAX_VALUES, faults_text
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Checked, FieldFault, Tool


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    barks: bool


class Node(BaseModel):
    size: int = 0
    kids: list[Node] = []


@dataclasses.dataclass
class Row:
    name: str
    count: int = 0


def _even(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd; api_key=abc123xyz")
    return number


def _broken(number: int) -> int:
    raise KeyError(number)


def work(  # noqa: PLR0913, PLR0917 a parameter of each kind
    to: str,
    limit: int = 3,
    ratio: float = 1.0,
    sure: bool = False,
    colour: Literal["red", "green"] = "red",
    rows: list[Row] = [],  # noqa: B006 nothing changes it
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None,
    node: Node | None = None,
    either: int | list[int] = 0,
    api_key: int = 0,
    short: Annotated[str, Field(min_length=1, max_length=3)] = "a",
    counts: dict[int, str] = {},  # noqa: B006 nothing changes it
    bounded: Annotated[int, Field(ge=1, lt=10, multiple_of=2)] = 2,
    few: Annotated[list[int], Field(min_length=1, max_length=2)] = [1],  # noqa: B006 nothing changes it
    word: Annotated[str, Field(pattern="^a+$")] = "a",
    even: Annotated[int, AfterValidator(_even)] = 0,
) -> None: ...


def odd_ones(
    when: date | None = None,
    at: datetime | None = None,
    lasting: timedelta | None = None,
    id_: UUID | None = None,
    url: AnyUrl | None = None,
    path: Path | None = None,
    names: set[str] | None = None,
    pair: tuple[int, str] | None = None,
    raw: bytes | None = None,
) -> None: ...


OWN = tool(work)
ODD = tool(odd_ones)
OTHER = Registry([{"name": "work", "parameters": OWN.spec.parameters}]).tools[0]
FIELDS = ", ".join(OWN.spec.properties)
BOTH = pytest.mark.parametrize("made", [OWN, OTHER], ids=["own", "other"])


def faults(made: Tool, **values: Any) -> str:
    return faults_text(made.check({"to": "x", **values}).faults)


@BOTH
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"limit": "ten"}, 'limit: must be an integer, got "ten"'),
        ({"limit": True}, "limit: must be an integer, got true"),
        ({"limit": None}, "limit: must be an integer, got null"),
        ({"limit": 2.5}, "limit: must be an integer, got 2.5"),
        ({"limit": {}}, "limit: must be an integer, got an empty object"),
        ({"limit": {"a": 1}}, "limit: must be an integer, got an object"),
        ({"limit": [1, 2]}, "limit: must be an integer, got a list of 2"),
        ({"ratio": "x"}, 'ratio: must be a number, got "x"'),
        ({"sure": 1}, "sure: must be true or false, got 1"),
        ({"to": True}, "to: must be a string, got true"),
        (
            {"rows": [{"name": "a"}, {"name": []}]},
            "rows[1].name: must be a string, got a list of 0",
        ),
        ({"rows": [{"count": 1}]}, "rows[0].name: required, missing"),
        ({"rows": {}}, "rows: must be a list, got an empty object"),
        ({"node": {"kids": [{"size": "q"}]}}, 'node.kids[0].size: must be an integer, got "q"'),
        ({"either": "x"}, 'either: must be an integer or a list, got "x"'),
        ({"bounded": 0}, "bounded: must be 1 or more, got 0"),
        ({"bounded": 12}, "bounded: must be less than 10, got 12"),
        ({"bounded": 3}, "bounded: must be a multiple of 2, got 3"),
        ({"few": []}, "few: must be 1 items or more, got a list of 0"),
        ({"few": [1, 2, 3]}, "few: must be 2 items or fewer, got a list of 3"),
        ({"short": ""}, 'short: must be 1 characters or more, got ""'),
        ({"short": "abcd"}, 'short: must be 3 characters or fewer, got "abcd"'),
        ({"word": "b"}, 'word: must be text that matches ^a+$, got "b"'),
        (
            {"rows": [{"name": "a", "cuont": 1}]},
            "rows[0].cuont: not a field of rows[0]; its fields are name, count; "
            "did you mean `count`?",
        ),
        (
            {"color": "red"},
            f"color: not a field of this tool; its fields are {FIELDS}; did you mean `colour`?",
        ),
        ({"zzz": 1}, f"zzz: not a field of this tool; its fields are {FIELDS}"),
    ],
)
def test_a_fault_says_what_to_change(made: Tool, values: dict[str, Any], words: str) -> None:
    assert faults(made, **values) == words


@BOTH
def test_a_missing_field_is_named(made: Tool) -> None:
    assert made.check({}).faults == (FieldFault("to", "required, missing"),)


def test_a_number_that_no_float_holds_is_a_fault_of_a_declared_tool() -> None:
    assert faults(OWN, ratio=10**400).startswith("ratio: must be a finite number, got 1000")


def test_choices_are_listed() -> None:
    assert faults(OWN, colour="pink") == "colour: must be 'red' or 'green', got \"pink\""
    assert faults(OTHER, colour="pink") == 'colour: must be one of "red", "green", got "pink"'


def test_a_union_by_its_tag_names_the_tags() -> None:
    assert faults(OWN, pet={"kind": "cow"}) == (
        "pet: must be an object whose 'kind' is one of 'cat', 'dog', got an object"
    )
    assert faults(OWN, pet={}) == "pet: must be an object with 'kind', got an empty object"
    assert faults(OWN, pet={"kind": "cat", "lives": "x"}) == (
        'pet.lives: must be an integer, got "x"'
    )
    assert faults(OTHER, pet={"kind": "cat"}) == "pet.lives: required, missing"
    assert faults(OTHER, pet=5) == "pet: must be an object, got 5"


def test_the_words_of_an_author_s_validator_reach_the_model_without_secrets() -> None:
    assert faults(OWN, even=3) == "even: 3 is odd; api_key=••••••••"


def test_a_validator_that_breaks_is_a_fault() -> None:
    def take(x: Annotated[int, AfterValidator(_broken)]) -> None: ...

    assert faults_text(tool(take).check({"x": 1}).faults) == "cannot be checked: KeyError: 1"


def test_a_wrong_key_is_told() -> None:
    assert faults(OWN, counts={"a": "b"}).startswith("counts.a: has a key that must be a valid int")


def test_a_fault_of_two_kinds_tells_both() -> None:
    def take(x: Annotated[int, AfterValidator(_even)] | list[int]) -> None: ...

    assert faults_text(tool(take).check({"x": 1}).faults) == (
        "x: 1 is odd; api_key=••••••••; or must be a list"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"when": 5}, "when: must be a date such as 2030-01-31, got 5"),
        ({"at": []}, "at: must be a date and time such as 2030-01-31T12:00:00Z, got a list of 0"),
        ({"lasting": 5}, "lasting: must be a duration such as PT5M, got 5"),
        ({"id_": "x"}, 'id_: must be a UUID, got "x"'),
        ({"url": "x"}, 'url: must be an address such as https://example.org/, got "x"'),
        ({"path": True}, "path: must be a string, got true"),
        ({"names": "x, y"}, 'names: must be a list, got "x, y"'),
        ({"pair": [1]}, "pair[1]: required, missing"),
    ],
)
def test_richer_types_say_how_they_are_written(values: dict[str, Any], words: str) -> None:
    assert faults_text(ODD.check(values).faults) == words


def test_an_input_comes_typed() -> None:
    checked = OWN.check({"to": "x", "limit": "4", "ratio": 2, "rows": [{"name": "a"}]})
    assert checked.faults == ()
    assert checked.values["limit"] == 4
    assert isinstance(checked.values["ratio"], float)
    assert checked.values["rows"] == [Row("a")]
    assert checked.values["sure"] is False
    given = {"when": "2030-01-31", "path": "a/b", "names": ["a", "a"], "pair": [1, "b"]}
    assert {name: ODD.check(given).values[name] for name in given} == {
        "when": date(2030, 1, 31),
        "path": Path("a/b"),
        "names": {"a"},
        "pair": (1, "b"),
    }


def test_an_input_of_another_s_schema_stays_what_it_is_but_for_quoted_numbers() -> None:
    assert OTHER.check({"to": "x"}) == Checked({"to": "x"})
    assert OTHER.check({"to": "x", "limit": "4"}) == Checked(
        {"to": "x", "limit": 4}, input={"to": "x", "limit": 4}
    )


@BOTH
def test_secrets_and_long_values_are_not_told(made: Tool) -> None:
    assert faults(made, api_key="hunter2") == "api_key: must be an integer, got ••••••••"
    assert faults(made, limit="sk-abcdefgh12345678") == (
        'limit: must be an integer, got "••••••••"'
    )
    told = faults(made, limit="y" * 5000)
    assert told == f'limit: must be an integer, got "{"y" * 60}"… (5,000 characters)'


@BOTH
def test_a_field_s_name_is_shown_on_one_line(made: Tool) -> None:
    told = faults(made, **{"a\nb\x1b": 1})
    assert told.startswith('["a\\nb\\u001b"]: not a field')
    assert len(faults(made, **{"k" * 9999: 1})) < 500


@BOTH
def test_many_faults_are_counted(made: Tool) -> None:
    told = made.check({"to": "x", **{f"k{n}": n for n in range(50)}}).faults
    assert len(told) == MAX_FAULTS + 1
    assert told[-1] == FieldFault("", "and 30 more")
    told = made.check({"to": "x", **{f"k{n}": n for n in range(300)}}).faults
    assert told[-1] == FieldFault("", "and at least 180 more")


def test_of_a_large_input_of_another_s_schema_the_first_fault_is_told() -> None:
    assert faults(OTHER, rows=[5] * 20_000) == "rows[0]: must be an object, got 5"


def _nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"kids": [value]}
    return value


def _endless() -> dict[str, Any]:
    value: dict[str, Any] = {"to": "x"}
    value["node"] = value
    return value


@BOTH
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"to": "\ud800"}, "to: has half a character (a lone surrogate)"),
        ({"to": "x", "\udfff": 1}, "has a key with half a character (a lone surrogate)"),
        ({"to": "x", "limit": 10**5000}, "limit: has too many digits"),
        ({"to": "x", "ratio": math.nan}, "ratio: must be a finite number, got nan"),
        ({"to": "x", "rows": [-math.inf]}, "rows[0]: must be a finite number, got -inf"),
        ({"to": b"x"}, "to: must be a JSON value, got a bytes"),
        ({"to": Path("x")}, "to: must be a JSON value, got a PosixPath"),
        ({"to": "x", 1: 2}, "must have text as keys, got 1"),
        ({"to": "x", "node": _nested(60)}, "node.kids[0]: is nested deeper than 100 levels"),
        ({"to": "x", "node": _nested(20_000)}, "node.kids[0]: is nested deeper than 100 levels"),
        (_endless(), "node.node.node: is nested deeper than 100 levels"),
        ({"to": "x", "rows": [1] * MAX_VALUES}, "has more than 100,000 values; put them in a file"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
@pytest.mark.no_cover  # other tests walk the same ways
def test_what_is_no_json_or_too_much_is_a_fault(
    made: Tool, given: dict[str, Any], words: str
) -> None:
    told = faults_text(made.check(given).faults)
    assert told.startswith(words)
    told.encode()


@BOTH
def test_an_input_just_within_the_limits_is_taken(made: Tool) -> None:
    assert made.check({"to": "x", "node": _nested(49)}).faults == ()
    assert made.check({"to": "[" * 300_000}).faults == ()
    assert made.check({"to": "x", "either": [1] * (MAX_VALUES - 3)}).faults == ()
    assert made.check({"to": "x", "limit": 10**4000}).faults == ()


def test_a_tool_without_parameters_says_so() -> None:
    def take() -> None: ...

    told = faults_text(tool(take).check({"x": 1}).faults)
    assert told == "x: not a field of this tool; it has no fields"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(["3", "true", "cat", "red", "\ud800", 10**4000]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "lives", "kids", "size", "name", "count", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
inputs = st.dictionaries(
    st.sampled_from([*OWN.spec.properties, "other"]) | st.text(max_size=4), json_values, max_size=5
)


@BOTH
@given(inputs)
def test_any_input_is_checked_and_every_fault_names_a_field(
    made: Tool, given: dict[str, Any]
) -> None:
    checked = made.check(given)
    for fault in checked.faults:
        assert fault.problem
        fault.field.encode()
        fault.problem.encode()
        first = fault.field.partition(".")[0].partition("[")[0]
        is_known = first in made.spec.properties or first in given
        assert is_known or fault.field.startswith("[") or not fault.field
    assert bool(checked.faults) != bool(checked.values)


@BOTH
@given(inputs)
def test_checking_changes_nothing_of_the_input(made: Tool, given: dict[str, Any]) -> None:
    before = repr(given)
    made.check(given)
    assert repr(given) == before


def plain(
    text: str, number: int, ratio: float, sure: bool, many: list[int], maybe: str | None = None
) -> None: ...


PLAIN = tool(plain)
PLAIN_OTHER = Registry([{"name": "plain", "parameters": PLAIN.spec.parameters}]).tools[0]
finite = st.floats(allow_nan=False, allow_infinity=False)
plain_inputs = st.fixed_dictionaries(
    {
        "text": st.text(),
        "number": st.integers(),
        "ratio": finite,
        "sure": st.booleans(),
        "many": st.lists(st.integers()),
    },
    optional={"maybe": st.none() | st.text()},
)


@given(plain_inputs)
def test_a_valid_input_passes_and_keeps_its_values(given: dict[str, Any]) -> None:
    assert PLAIN.check(given).values == {"maybe": None, **given}
    assert PLAIN_OTHER.check(given).values == given


@given(plain_inputs)
def test_quoted_values_mean_the_same(given: dict[str, Any]) -> None:
    quoted = {
        key: value if key in ("text", "maybe", "many") else json.dumps(value)
        for key, value in given.items()
    }
    quoted["many"] = [str(number) for number in given["many"]]
    assert PLAIN.check(quoted).values == {"maybe": None, **given}
    assert PLAIN_OTHER.check(quoted).values == given


anything = st.fixed_dictionaries({}, optional=dict.fromkeys(PLAIN.spec.properties, json_values))


@given(anything)
def test_declared_and_foreign_tools_agree_on_plain_types(given: dict[str, Any]) -> None:
    # JSON has numbers that no float of Python holds, and only a declared tool needs one.
    ratio = given.get("ratio")
    assume(not isinstance(ratio, int) or abs(ratio) < 10**300)
    own, other = PLAIN.check(given), PLAIN_OTHER.check(given)
    assert {fault.field for fault in own.faults} == {fault.field for fault in other.faults}


def test_a_row_that_is_no_list_is_told_how_rows_are_written() -> None:
    @tool
    def put(values: list[list[str | int]]) -> None: ...

    other = Registry([{"name": "put", "parameters": put.spec.parameters}]).tools[0]
    for made in (put, other):
        assert made.check({"values": "[[1, 2], [3, 4]]"}).values == {"values": [[1, 2], [3, 4]]}
        told = faults_text(made.check({"values": ["x", "y"]}).faults)
        assert told.splitlines()[0] == 'values[0]: must be a list, got "x"; rows are lists: [[…]]'
        assert faults_text(made.check({"values": 5}).faults) == "values: must be a list, got 5"
