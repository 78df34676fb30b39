"""Predicates: which arguments of a call are right, where one exact value would be too narrow.

A predicate is a table with one key or several, all of which must hold:

    any = true            is there            one_of = ["a", "b"]   is one of these
    starts = "Oslo"       begins with this    contains = ["a", "b"] all of these stand in the text
    between = [1, 5]      is a number there   matches = "^A-[0-9]+$"  fits the expression
    equals = "exact text" is this and nothing else
    lines = "a\\nb"        is this text, apart from blank space around it and the kind of line ends
    fits = {…}            has this form: a table in it may be a predicate again
    members = [{…}, …]    is a list of these forms, in any order
    alike = […]           is one of these as BFCL compares: without blanks, case and , . / - _ * ^;
                          in an object of them each value is a list of right ones, "" for none
    optional = true       may be missing
    example = …           a value that is right, where the others do not tell one

Values are compared by what they mean: texts without regard to case and outer blanks, numbers by
their value. `starts` and `one_of` do so; `contains`, `matches`, `equals` and `lines` are exact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

__all__ = ("example_of", "fault_of_predicate", "holds", "same", "short")

_KINDS: dict[str, tuple[type, ...]] = {
    "any": (bool,),
    "one_of": (list,),
    "between": (list,),
    "starts": (str,),
    "contains": (list,),
    "matches": (str,),
    "equals": (object,),
    "lines": (str,),
    "fits": (object,),
    "members": (list,),
    "alike": (list,),
    "optional": (bool,),
    "example": (object,),
}
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def same(found: Any, wanted: Any) -> bool:
    """Return whether two values mean the same: texts by their words, numbers by their value."""
    if isinstance(found, str) and isinstance(wanted, str):
        return found.strip().casefold() == wanted.strip().casefold()
    if isinstance(found, list) and isinstance(wanted, list):
        pair = cast("tuple[list[Any], list[Any]]", (found, wanted))
        return len(pair[0]) == len(pair[1]) and all(map(same, *pair))
    if isinstance(found, dict) and isinstance(wanted, dict):
        one, other = cast("tuple[dict[str, Any], dict[str, Any]]", (found, wanted))
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return _equal(found, wanted)


def _equal(found: Any, wanted: Any) -> bool:
    """Compare plain values; 1 equals 1.0, and neither equals true."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


def holds(predicate: Mapping[str, Any], found: Any) -> bool:
    """Return whether a value is as a predicate says; what is missing is given as `None`."""
    if found in (None, "") and not _takes_empty(predicate, found):
        return bool(predicate.get("optional"))
    return all(_one_holds(name, value, found) for name, value in predicate.items())


def _takes_empty(predicate: Mapping[str, Any], found: Any) -> bool:
    listed = [*predicate.get("one_of", ()), *predicate.get("alike", ())]
    return found in listed or (found == "" and predicate.get("equals") == "")


def _one_holds(name: str, value: Any, found: Any) -> bool:
    check = _CHECKS.get(name)  # any, optional and example say nothing of a value
    return check is None or check(value, found)


def _is_between(limits: Sequence[float], found: Any) -> bool:
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return is_number and limits[0] <= found <= limits[1]


def _contains(texts: Sequence[str], found: Any) -> bool:
    text = found if isinstance(found, str) else _encode(found)
    return all(one in text for one in texts)


def _starts(wanted: str, found: Any) -> bool:
    """Return whether a text begins with a word: Oslo, Norway is Oslo, and Osloer is not."""
    if not isinstance(found, str):
        return False
    text, start = found.strip().casefold(), wanted.casefold()
    return text.startswith(start) and not text[len(start) : len(start) + 1].isalnum()


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _has_lines(wanted: str, found: Any) -> bool:
    return isinstance(found, str) and _lines(found) == _lines(wanted)


def _is_predicate(pattern: Mapping[str, Any]) -> bool:
    return bool(pattern) and pattern.keys() <= _KINDS.keys()


def _fits(pattern: Any, found: Any) -> bool:
    """Return whether a value has a form. Members that it does not name may only be empty."""
    if isinstance(pattern, list):
        wanted = cast("list[Any]", pattern)
        if not isinstance(found, list) or len(cast("list[Any]", found)) != len(wanted):
            return False
        return all(map(_fits, wanted, cast("list[Any]", found)))
    if not isinstance(pattern, dict):
        return same(found, pattern)
    known = cast("dict[str, Any]", pattern)
    if _is_predicate(known):
        return holds(known, found)
    if not isinstance(found, dict):
        return False
    given = cast("dict[str, Any]", found)
    others = (value for key, value in given.items() if key not in known)
    return all(_fits(one, given.get(key)) for key, one in known.items()) and all(
        value in _EMPTY for value in others
    )


def _has_members(patterns: Sequence[Any], found: Any) -> bool:
    return isinstance(found, list) and _members(patterns, cast("list[Any]", found))


def _members(patterns: Sequence[Any], found: Sequence[Any]) -> bool:
    """Match with backtracking: forms may overlap, and they are few."""
    if not patterns or not found:
        return not patterns and not found
    return any(
        _fits(patterns[0], one) and _members(patterns[1:], [*found[:at], *found[at + 1 :]])
        for at, one in enumerate(found)
    )


def _is_alike(choices: Sequence[Any], found: Any) -> bool:
    return any(_alike(one, found) for one in choices if one != "")


_IGNORED = re.compile(r"[ ,./\-_*^]")


def _loose(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _choices(wanted: Any) -> dict[str, list[Any]]:
    """Return the right values of each member of an object; some tasks give one without a list."""
    known = cast("dict[str, Any]", wanted)
    return {key: one if isinstance(one, list) else [one] for key, one in known.items()}


def _alike(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, str):
        return isinstance(found, str) and _loose(found) == _loose(wanted)
    if isinstance(wanted, list):
        items = cast("list[Any]", wanted)
        if not isinstance(found, list) or len(cast("list[Any]", found)) != len(items):
            return False
        return all(map(_alike, items, cast("list[Any]", found)))
    if not isinstance(wanted, dict):
        return _equal(found, wanted)
    choices = _choices(wanted)
    given = cast("dict[str, Any]", found) if isinstance(found, dict) else None
    if given is None or not given.keys() <= choices.keys():
        return False
    return all(
        _is_alike(values, given[key]) if key in given else "" in values
        for key, values in choices.items()
    )


_CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "one_of": lambda values, found: any(same(found, one) for one in values),
    "between": _is_between,
    "starts": _starts,
    "contains": _contains,
    "matches": lambda form, found: isinstance(found, str) and re.search(form, found) is not None,
    "equals": lambda value, found: _equal(found, value),
    "lines": _has_lines,
    "fits": _fits,
    "members": _has_members,
    "alike": _is_alike,
}


# --- Values that are right, and what is no predicate ---


def example_of(predicate: Mapping[str, Any]) -> Any:
    """Return a value that is right, or `None` where the predicate tells none."""
    match predicate:
        case {"example": value} | {"equals": value} | {"lines": value} | {"starts": value}:
            return value
        case {"one_of": [value, *_]} | {"between": [value, *_]}:
            return value
        case {"alike": [first, *_]}:
            return _alike_example(first)
        case {"contains": texts}:
            return "\n".join(texts)
        case {"fits": pattern} | {"members": pattern}:
            return _form_example(pattern)
        case _:
            return None


def _alike_example(wanted: Any) -> Any:
    if isinstance(wanted, list):
        return [_alike_example(one) for one in cast("list[Any]", wanted)]
    if not isinstance(wanted, dict):
        return wanted
    firsts = {key: values[0] for key, values in _choices(wanted).items() if values}
    firsts = {key: value for key, value in firsts.items() if value != ""}
    return {key: _alike_example(one) for key, one in firsts.items()}


def _form_example(pattern: Any) -> Any:
    if isinstance(pattern, list):
        return [_form_example(one) for one in cast("list[Any]", pattern)]
    if not isinstance(pattern, dict):
        return pattern
    known = cast("dict[str, Any]", pattern)
    if _is_predicate(known):
        return example_of(known)
    values = {key: _form_example(one) for key, one in known.items()}
    return {key: value for key, value in values.items() if value is not None}


def fault_of_predicate(predicate: Mapping[str, Any]) -> str:
    """Return why a table is no predicate, in words; "" where it is one."""
    if not predicate:
        return "has no predicate"
    for kind, value in predicate.items():
        if kind not in _KINDS:
            return f"has no predicate {kind!r:.60}"
        if not isinstance(value, _KINDS[kind]):
            return f"has a predicate {kind} that is no {_KINDS[kind][0].__name__}"
        if fault := _fault_of_value(kind, value):
            return fault
    return ""


def _fault_of_value(kind: str, value: Any) -> str:
    if kind == "between" and [isinstance(one, int | float) for one in value] != [True, True]:
        return "is between two numbers"
    if kind == "contains" and not all(isinstance(one, str) for one in value):
        return "contains texts"
    if kind == "matches":
        try:
            re.compile(value)
        except re.error as error:
            return f"has {value!r:.60}, which is no expression: {error}"
    if kind in ("fits", "members"):
        return _fault_of_form(value)
    return ""


def _fault_of_form(pattern: Any) -> str:
    if isinstance(pattern, list):
        return _first_fault(cast("list[Any]", pattern))
    if not isinstance(pattern, dict):
        return ""
    known = cast("dict[str, Any]", pattern)
    if _is_predicate(known):
        return fault_of_predicate(known)
    return _first_fault(known.values())


def _first_fault(patterns: Iterable[Any]) -> str:
    faults = [_fault_of_form(one) for one in patterns]
    return next(filter(None, faults), "")


def short(value: Any) -> str:
    """Return a value in one line of at most 60 characters."""
    text = _encode(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _encode(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
