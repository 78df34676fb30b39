from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.outcomes import Failure
from callblocks.tools.tool import Origin, combine, envelope, unwrap

ERROR = {"code": "no_table", "message": "no such table", "where": "db", "managed": True}
FAILURE = Failure(code="no_table", message="no such table", where="db", managed=True)
UNSAID = Failure(code="tool_error", message="the tool failed, and did not say why")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "ok": st.booleans() | json_values,
        "error": st.none()
        | json_values
        | st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("code", "message", "where", "managed"), json_values)
        ),
        "ret": json_values,
        "more": json_values,
    },
)


@pytest.mark.parametrize("origin", ["builtin", "function"])
@pytest.mark.parametrize(
    ("value", "output", "failure"),
    [
        ({"ok": True, "error": None, "ret": {"rows": 3}}, {"rows": 3}, None),
        ({"ok": False, "error": ERROR, "ret": [1]}, [1], FAILURE),
        ({"ok": False, "error": ERROR}, None, FAILURE),
        ({"ok": True, "error": ERROR, "ret": 1}, 1, None),
        ({"ok": True}, None, None),
        ({"ok": False}, None, UNSAID),
        ({"ok": False, "error": None, "ret": 1}, 1, UNSAID),
        ({"ok": 1, "ret": 2}, {"ok": 1, "ret": 2}, None),
        ({"rows": 3}, {"rows": 3}, None),
        ({}, {}, None),
        ([{"ok": True}], [{"ok": True}], None),
        ("text", "text", None),
        (None, None, None),
    ],
)
def test_an_envelope_is_unwrapped_and_any_other_value_is_the_output(
    origin: Origin, value: object, output: object, failure: Failure | None
) -> None:
    assert unwrap(value, origin) == (output, failure)


def test_only_a_builtin_may_put_more_into_its_envelope() -> None:
    value = {"ok": False, "error": ERROR, "ret": 1, "log": "…"}
    assert unwrap(value, "builtin") == (1, FAILURE)
    assert unwrap(value, "function") == (value, None)
    assert unwrap({"ok": True, "rows": 3}, "builtin") == ({"ok": True, "rows": 3}, None)
    assert unwrap({"ok": True, "ret": 3, "log": ""}, "builtin") == (3, None)
    assert unwrap({"ok": False, "error": "x", "log": ""}, "builtin")[0] is None


@pytest.mark.parametrize(
    ("value", "output", "failure"),
    [
        ({"ok": True, "error": None}, None, None),
        ({"ok": True, "error": None, "ret": 5}, 5, None),
        ({"ok": True, "error": None, "rows": 3}, {"rows": 3}, None),
        ({"ok": True, "error": None, "ret": 5, "log": ""}, {"ret": 5, "log": ""}, None),
        ({"ok": False, "error": ERROR, "ret": 5}, 5, FAILURE),
        ({"ok": False, "error": ERROR}, None, FAILURE),
        ({"ok": False, "error": None}, None, UNSAID),
        ({"ok": True, "error": ERROR}, None, None),
    ],
)
def test_an_external_tool_answers_with_an_envelope(
    value: object, output: object, failure: Failure | None
) -> None:
    assert unwrap(value, "external") == (output, failure)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("text", "the tool answered without `ok` and `error`"),
        (None, "without `ok` and `error`"),
        ({}, "without `ok` and `error`"),
        ({"ok": True}, "without `error`"),
        ({"error": None}, "without `ok`"),
        ({"ok": "yes", "error": None}, '`ok` must be true or false, got "yes"'),
        ({"ok": True, "error": "odd"}, '`error` must be null or an object, got "odd"'),
    ],
)
def test_an_external_tool_that_does_not_is_told_apart(value: object, words: str) -> None:
    output, failure = unwrap(value, "external")
    assert output == value
    assert failure is not None
    assert failure.code == "bad_envelope"
    assert words in failure.message
    assert '{"ok": true, "error": null, …}' in failure.message


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        ("it broke", Failure(code="tool_error", message="it broke")),
        (7, Failure(code="tool_error", message="7")),
        ([1], Failure(code="tool_error", message="a list of 1")),
        ({"code": 7, "message": ["x"]}, Failure(code="7", message="a list of 1")),
        ({"code": "", "message": ""}, UNSAID),
        ({"managed": "yes", "details": 5}, UNSAID),
        (
            {"details": {"a": 1}},
            Failure(code=UNSAID.code, message=UNSAID.message, details={"a": 1}),
        ),
    ],
)
def test_an_error_of_another_form_still_says_what_it_can(error: Any, failure: Failure) -> None:
    assert unwrap({"ok": False, "error": error}, "external") == (None, failure)


def test_a_long_error_is_cut() -> None:
    _, failure = unwrap(
        {"ok": False, "error": {"code": "c" * 81, "message": "m" * 4001, "where": "w" * 80}},
        "builtin",
    )
    assert failure == Failure(code="c" * 80 + "…", message="m" * 4000 + "…", where="w" * 80)


@given(st.one_of(json_values, envelopes), st.sampled_from(["builtin", "function", "external"]))
def test_any_answer_gives_an_output_and_perhaps_a_failure(value: object, origin: Origin) -> None:
    _, failure = unwrap(value, origin)
    assert failure is None or (failure.code and failure.message)


failures = st.builds(
    Failure,
    code=st.text(min_size=1, max_size=80),
    message=st.text(min_size=1, max_size=80),
    where=st.text(max_size=20),
    details=st.dictionaries(st.text(), json_values, max_size=2),
    managed=st.booleans(),
)


@given(json_values, st.none() | failures)
def test_unwrapping_undoes_the_envelope(output: object, failure: Failure | None) -> None:
    assert unwrap(envelope(output, failure), "builtin") == (output, failure)
    assert unwrap(envelope(output, failure), "function") == (output, failure)


def test_an_envelope_is_the_documented_object() -> None:
    assert envelope(1, FAILURE) == {"ok": False, "error": ERROR, "ret": 1}
    assert envelope(1, None) == {"ok": True, "error": None, "ret": 1}


def test_two_failures_become_one_that_keeps_both() -> None:
    timeout = Failure(code="timeout", message="took too long", details={"seconds": 5})
    assert combine(timeout, FAILURE) == Failure(
        code="timeout",
        message="took too long; the tool said no_table: no such table",
        where="db",
        details={
            "seconds": 5,
            "tool_error": {"code": "no_table", "message": "no such table", "where": "db"},
        },
    )
    assert combine(timeout, None) is timeout
    assert combine(None, FAILURE) is FAILURE
    assert combine(None, None) is None


@pytest.mark.parametrize(("one", "two"), [(True, True), (True, False), (False, True)])
def test_a_combined_failure_is_managed_only_if_both_are(one: bool, two: bool) -> None:
    first = Failure(code="a", message="a", where="here", managed=one)
    both = combine(first, Failure(code="b", message="b", where="there", managed=two))
    assert both is not None
    assert (both.managed, both.where) == (one and two, "here")
