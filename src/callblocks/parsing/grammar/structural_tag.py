"""The notation of xgrammar, which vLLM and SGLang take too: a structural tag, in JSON.

    {"type": "structural_tag", "format":
        {"type": "triggered_tags", "triggers": ["<call>"], "tags":
            [{"type": "tag", "begin": "<call>", "content": …, "end": "</call>"}], …}}

Text is free until a trigger; then a tag must follow. Prose and blocks have that form: the markers
that prose must not hold become triggers, and the blocks become tags. A tag has the literals that a
block begins and ends with, and between them its rules as GBNF, which xgrammar reads. `at_least_one`
and `stop_after_first` are not used: with them xgrammar allows no prose before the first call, and
none behind the only one. If calls are demanded, the prose is explicit instead:

    any        triggered tags
    required   prose, a tag, triggered tags
    one        prose, a tag, prose

xgrammar wants each tag to begin with exactly one of the triggers. A grammar whose text is not prose
and blocks, or whose blocks begin otherwise, becomes a single format with all rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from callblocks.parsing.grammar import gbnf
from callblocks.parsing.grammar.expressions import Alt, Expr, Lit, Ref, Seq, seq, within

__all__ = ("printed",)


def printed(
    rules: Mapping[str, Expr], blocks: tuple[Sequence[str], Expr] | None, calls: str
) -> str:
    """Write the rules; `blocks` are the markers that prose must not hold, and a block's rule."""
    form = _text(rules, *blocks, calls) if blocks else None
    form = form or _grammar(rules["root"], rules)
    return json.dumps({"type": "structural_tag", "format": form}, ensure_ascii=False)


def _text(
    rules: Mapping[str, Expr], markers: Sequence[str], block: Expr, calls: str
) -> dict[str, Any] | None:
    """Return the format of prose and blocks, or None if triggers cannot express it."""
    # Of markers that begin alike only the shortest is a trigger or excluded: the longer ones begin
    # with it. A marker with which no tag begins is excluded from the prose instead.
    tags = [_tag(way, rules) for way in _ways(block, rules)]
    shortest = [one for one in markers if not any(one.startswith(o) for o in markers if o != one)]
    triggers = [one for one in shortest if any(tag["begin"].startswith(one) for tag in tags)]
    others = [one for one in shortest if one not in triggers]
    begun = all(tag["begin"].startswith(tuple(triggers)) for tag in tags)
    # xgrammar also searches excluded markers inside of triggers: a trigger that contains one would
    # never match.
    if not begun or any(other in trigger for trigger in triggers for other in others):
        return None
    free: dict[str, Any] = {
        "type": "triggered_tags",
        "triggers": triggers,
        "tags": tags,
        "at_least_one": False,
        "stop_after_first": False,
        **({"excludes": others} if others else {}),
    }
    if calls == "any":
        return free
    prose = {"type": "any_text", "excludes": [*triggers, *others]}
    rest = prose if calls == "one" else free
    return {"type": "sequence", "elements": [prose, {"type": "or", "elements": tags}, rest]}


def _ways(expr: Expr, rules: Mapping[str, Expr]) -> list[tuple[Expr, ...]]:
    """Split a block into rows, one per alternative at its beginning, down to a literal."""
    match expr:
        case Ref(name):
            return _ways(rules[name], rules)
        case Alt(choices):
            return [way for choice in choices for way in _ways(choice, rules)]
        case Seq((Ref() | Alt() as first, *rest)):
            return [(*way, *rest) for way in _ways(first, rules)]
        case Seq(parts):
            return [parts]
        case _:
            return [(expr,)]


def _tag(way: Sequence[Expr], rules: Mapping[str, Expr]) -> dict[str, Any]:
    begin, inner = _literals(way)
    end, content = _literals(inner[::-1])
    return {
        "type": "tag",
        "begin": "".join(begin),
        "content": _grammar(seq(*content[::-1]), rules),
        "end": "".join(end[::-1]),
    }


def _literals(parts: Sequence[Expr]) -> tuple[list[str], Sequence[Expr]]:
    """Return the literals that a row begins with, and the rest of it."""
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, Lit):
            break
        texts.append(part.text)
    return texts, parts[len(texts) :]


def _grammar(root: Expr, rules: Mapping[str, Expr]) -> dict[str, Any]:
    """Return a format with only the rules that the root needs."""
    needed: dict[str, Expr] = {"root": root}
    waiting = [root]
    while waiting:
        for part in within(waiting.pop()):
            if isinstance(part, Ref) and part.name not in needed:
                needed[part.name] = rules[part.name]
                waiting.append(rules[part.name])
    return {"type": "grammar", "grammar": gbnf.printed(needed)}
