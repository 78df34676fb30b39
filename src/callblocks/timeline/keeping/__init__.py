"""Kept files: stored by digest, with a verified type, whole or refused.

`artifacts` is the content-addressed store, `kept_files` its atomic writes. `mime`, `magic` and
`mime_names` determine types. `wholeness`, `whole_images`, `zips` and `written` check that a file
opens as what it claims to be.

Start with artifacts.py.
"""
