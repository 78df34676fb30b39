r"""What no text of others may say to a model, whatever tools there are.

    [TOOL RESULT abc].result      the headers of the view itself, in any case
    [hidden; …]  (about 9 tokens, too many …)  (folded, about …)   its placeholders
    <image media_type=…>  ── cache point ──       what stands for parts where there is only text
    <|im_start|>  [INST]  <end_of_turn>           the control tokens of chat templates
    <think>  [/THINK]  ◁think▷                    where reasoning begins and ends
    ✅ **`ls` result:**            what would be the result of a call that stands before it

A row is one character and a pattern of what follows it: the sign goes between them. Only that is a
control token which a tokenizer or a template takes for one and nobody writes for another reason.
`<s>`, `<tools>` and `<invoke …>` are HTML and XML: to begin a turn of somebody they would need one
of these rows beside them, and where they begin a call, they are read as one (see `call_places`).
"""

from __future__ import annotations

import re
from functools import cache

from callblocks.dialects import dialects

__all__ = ("HIDDEN", "reserved")

HIDDEN = "[hidden;"
"""How a placeholder begins."""

_HEADERS = (
    "tool {1,3}(?:call|result)",
    "ai {1,3}agent",
    "user {1,3}(?:say|attachment)",
    "hidden;",
    "folded\\]",
    "damaged {1,3}block",
    "unknown {1,3}block",
)
_BRACKETED = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|MODEL_SETTINGS|THINK"
    "|BEGIN FINAL RESPONSE|END FINAL RESPONSE"
)
_BARRED = "tool|tool_call|tool_response|turn|channel|think|image|audio|video"
_TAGGED = (
    "bos|eos|start_of_turn|end_of_turn|start_of_image|end_of_image|start_function_\\w{1,20}"
    "|end_function_\\w{1,20}|tool_call|tool_response"
)
_ROWS = (
    *(("[", f" {{0,3}}(?i:{words})") for words in _HEADERS),
    ("(", " {0,3}(?i:about {1,3}\\S{1,20} {1,3}tokens, {1,3}too {1,3}many|folded, {1,3}about)"),
    ("<", "(?i:image|document) {1,3}(?i:media_type)"),
    ("─", "─{0,3} {0,3}(?i:cache {1,3}point)"),
    ("<", '/?[|｜][^\\s|｜<>]{1,64}[|｜]>|\\|"\\|>'),
    ("<", f"\\|/?(?:{_BARRED})>|/?(?:{_BARRED})\\|>"),
    ("<", "/?[|｜]DSML[|｜]"),
    ("<", f"/?(?:[a-z]{{2,10}}:)?(?:{_TAGGED})>|/?antml:"),
    ("<", "/?(?:[a-z]{2,10}:)?(?:think|bos|eos)>"),
    ("<", "</?SYS>>"),
    ("[", f"/?(?:{_BRACKETED})\\]"),
    ("◁", "/?think▷"),
    ("]", "<\\]minimax\\[>\\["),
    ("✅", "\ufe0f?[^\\S\\n]{0,100}\\*\\*[^\\S\\n]{0,100}`"),
)
# They end a text for some models, and are HTML for all others.
_ORDINARY = ("</s>",)


@cache
def reserved() -> re.Pattern[str]:
    """Matches the character after which a sign goes, wherever a row or a dialect's token stands."""
    named = (marker for one in dialects.values() for pair in one.reasoning for marker in pair)
    ends = (token for one in dialects.values() for token in one.turn_ends)
    tokens = [token for token in dict.fromkeys((*named, *ends)) if token not in _ORDINARY]
    rests: dict[str, list[str]] = {}
    for first, rest in (*_ROWS, *((token[0], re.escape(token[1:])) for token in tokens)):
        rests.setdefault(first, []).append(rest)
    # Every choice begins with its own character: the search then skips all other text fast.
    rows = [f"{re.escape(first)}(?={'|'.join(rest)})" for first, rest in rests.items()]
    # Of the texts that only went on writing, each turn began after a blank line.
    return re.compile("|".join((*rows, "(?<=\\n\\n)[HA](?=(?:(?<=H)uman|(?<=A)ssistant):)")))
