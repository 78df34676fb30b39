"""Repair: readers for the mistakes that models make in JSON and in Python calls.

A repair runs only on text whose end is known, after the strict reader has failed, and each repair
is reported by a code (`repaired-quotes`, …). A repair never invents a value: where two readings are
possible, the text is `Unrepairable` and becomes malformed.

`tolerant` reads one value, `strings` its strings, `calls` a row of call objects, `keywords` and
`python_quotes` calls in Python; `brackets` finds the end of text that is not quite JSON.
"""
