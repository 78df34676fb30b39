"""Recall: what a model reads again and hides, by paths, sources, skills and placeholders.

`asked` interprets paths as models spell them, `finding` looks them up as blocks, `reading` brings
them (`react.read`), `hiding` covers them (`react.hide`), `recovering` restores lost files, and
`skills` are instructions on demand.

Start with reading.py and hiding.py.
"""
