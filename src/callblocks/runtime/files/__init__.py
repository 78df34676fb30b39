"""Files below one root folder, and never outside of it.

`root.Root` is the door: every read, write, listing and deletion of a call goes through it. `names`
checks a path as text, `links` computes the real path that it leads to, `pins` binds a call to the
result, `openat` opens that real path without following any link, `replace` writes atomically, and
`protected` lists what no call writes.

Start with root.py, then pins.py.
"""
