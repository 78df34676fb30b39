"""The notation of xgrammar, which vLLM and SGLang take too: a structural tag, in JSON.

    {"type": "structural_tag", "format":
        {"type": "triggered_tags", "triggers": ["<call>"], "tags":
            [{"type": "tag", "begin": "<call>", "content": …, "end": "</call>"}], …}}

Text is free until a trigger; then a tag has to follow. That is what prose and blocks are, so
the markers that prose lacks become triggers and the blocks become tags: the literals that a
block begins and ends with, and between them its rules in the notation of llama.cpp, which
xgrammar reads. `at_least_one` and `stop_after_first` are not used: xgrammar then allows no
prose before the first call, and none after the only one. Where calls are demanded, the prose is
said instead:

    any        triggered tags
    required   prose, a tag, triggered tags
    one        prose, a tag, prose

xgrammar wants each tag to begin with exactly one of the triggers. A grammar whose text is not
prose and blocks, or whose blocks begin otherwise, is one format: all of its rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from callblocks.parsing import gbnf
from callblocks.parsing.expressions import Alt, Expr, Lit, Ref, Seq, seq, within

__all__ = ("printed",)


def printed(
    rules: Mapping[str, Expr], blocks: tuple[Sequence[str], Expr] | None, calls: str
) -> str:
    """Write the rules; `blocks` are the markers that prose lacks, and a block."""
    form = _text(rules, *blocks, calls) if blocks else None
    form = form or _grammar(rules["root"], rules)
    return json.dumps({"type": "structural_tag", "format": form}, ensure_ascii=False)


def _text(
    rules: Mapping[str, Expr], markers: Sequence[str], block: Expr, calls: str
) -> dict[str, Any] | None:
    """Return the format of prose and blocks, or None where triggers cannot say it."""
    tags = [_tag(way, rules) for way in _ways(block, rules)]
    shortest = [one for one in markers if not any(one.startswith(o) for o in markers if o != one)]
    triggers = [one for one in shortest if any(tag["begin"].startswith(one) for tag in tags)]
    others = [one for one in shortest if one not in triggers]
    begun = all(tag["begin"].startswith(tuple(triggers)) for tag in tags)
    # xgrammar looks for what it excludes inside of triggers, too, and would never see those.
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
    """Split a block into rows, one for each beginning; each begins with a literal if it can."""
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
    """Return a format of those rules alone that the root needs."""
    needed: dict[str, Expr] = {"root": root}
    waiting = [root]
    while waiting:
        for part in within(waiting.pop()):
            if isinstance(part, Ref) and part.name not in needed:
                needed[part.name] = rules[part.name]
                waiting.append(rules[part.name])
    return {"type": "grammar", "grammar": gbnf.printed(needed)}
