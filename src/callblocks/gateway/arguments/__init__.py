"""Arguments: the input of a call as JSON that grows while a model writes it, in any dialect.

    deltas = ArgumentDeltas(dialect, spec, opening=opening)
    deltas.feed(event.text)            for each `CallInput`: JSON to append, perhaps ""
    deltas.finish(event.call.input)    for the `CallReady`: the rest

A client shows a call while it arrives, so what was sent is never taken back. The joined deltas are
the beginning of valid JSON at any time, and in the end the input itself.

A reader of the dialect's notation (`json_notation`, `tag_notation`, `python_notation`,
`yaml_notation`) finds strings and values in the raw text and tells them to a `JsonOutput`
(`reader`), which writes JSON. A reader tells only what is certain, and stops for good
where the text is irregular: the repairs of the parser are its own. `finish` then gives the rest.

Start with deltas.py. May import: core, parsing, dialects, views.model_view.neutral.
"""

from __future__ import annotations

from callblocks.gateway.arguments.deltas import ArgumentDeltas, TextDeltas

__all__ = ("ArgumentDeltas", "TextDeltas")
