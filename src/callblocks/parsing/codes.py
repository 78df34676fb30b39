"""The codes of problems that any text may have; a dialect declares its own beside its reader.

A code is stable: programs compare it. The detail beside it is for people and may change.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ("GENERAL_CODES",)

# Each code with its meaning.
GENERAL_CODES: Mapping[str, str] = {
    "duplicate-id": "a call has an id that was used before; it was renamed",
    "damaged-marker": "a marker went through a wrong encoding; it was read all the same",
    "too-deep": "an input is nested deeper than `Limits.depth`",
    "too-large": "an input is longer than `Limits.input_size`",
    "too-many-calls": "the text has more calls than `Limits.calls`",
    "mistyped-argument": "an argument does not fit its schema; it was kept as text",
    "repaired-arguments": "the arguments stood beside the name, not in an object of their own",
    "repaired-braces": "braces were doubled, or too many closed",
    "repaired-closing": "closing brackets or the closing marker were missing",
    "repaired-commas": "a comma stood where nothing follows, or was missing",
    "repaired-comments": "comments stood in JSON; they were left out",
    "repaired-fence": "a Markdown fence stood around the JSON of a call",
    "repaired-input": "the arguments were given as a string that holds JSON",
    "repaired-keys": "a key stood twice in an object; the last one counts",
    "repaired-repeats": "an argument was given more than once; it was read as a list",
    "repaired-literals": "`True`, `False` or `None` stood for JSON's own words",
    "repaired-name": "blanks, marks or a namespace stood around the name of a tool",
    "repaired-opening": "the opening marker of a call was missing",
    "repaired-quotes": "strings were in single quotes, or keys in none",
    "repaired-strings": "line breaks, quotes or backslashes stood in a string as they are",
    "unrepaired": "a call has what `strict` does not repair",
    "repeated-argument": "an argument is given twice: nobody knows which one counts",
    "repaired-escapes": "a list or an object was written with its quotes escaped",
    "missing-wrapper": "a call stands without the tag that should wrap it",
    "missing-closer": "a closing tag is missing; what comes next closed it",
    "misspelt-tag": "a tag is not spelt as its grammar says; it was read all the same",
    "stray-closer": "a closing marker closes nothing; it was left out",
    "stray-text": "text stands between calls or the arguments of a call; it was left out",
    "unmatched-tags": "a value holds a tag of arguments that nothing opens or closes; it was kept",
    "empty-calls": "a wrapper of calls holds no call",
    "repaired-wrapping": "all arguments stood in one that the tool does not have",
    "arguments-not-json": "the arguments of a call should be a JSON object and are none",
    "arguments-not-yaml": "the arguments of a call should be a YAML mapping and are none",
    "truncated-call": "the text ended inside a call",
    "positional-arguments": "arguments without a name; they were bound in the tool's order",
    "unbound-arguments": "the arguments do not fit the tool's parameters; they were kept raw",
    "arguments-not-python": "the arguments of a call should be plain Python values and are none",
    "repaired-list": "calls stood without the list around them, or in one that does not belong",
    "foreign-body": "what stands between the markers is written as another dialect writes it",
    "sibling-dialect": "a call is written as another dialect of the family writes it",
    "unlikely-key": "an argument's key is damaged or that of another tool; it was kept",
    "joined-strings": "strings of a list stand with no comma between them; they were joined",
    "joined-lines": "a YAML text without marks stands on several lines; they were joined",
    "unlikely-name": "a call in a guessed dialect has a name that no tool has; it stayed prose",
    "unread-call": "the name of a tool stands in the form of a call that is not read",
    "invalid-utf8": "bytes of a file were not text; each became U+FFFD",
}
