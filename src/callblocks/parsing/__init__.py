"""The machinery that dialects are built from.

    engine/   blocks, markers, fences, reasoning: what the loop in loop.py is made of
    values/   JSON, Python, YAML and typed text become values
    readers/  calls in one notation: JSON rows, Python calls, tags, a name and JSON
    repair/   what models get wrong in calls, read all the same and named
    grammar/  rules that hold a decoder to a dialect: GBNF, Lark, structural tags
    shapes/   forms that many dialects share; a dialect adds markers and keys

dialect.py has the contract of a dialect; teaching.py writes prompts; conversion.py joins two
dialects. The author of a dialect needs one import: `from callblocks.parsing import Dialect, …`.

Start with loop.py. Does no input or output. May import: core.
"""
