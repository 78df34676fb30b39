"""The local office backend: mail, calendars, drive, sheets and tasks in a folder.

The formats are those of other programs (Maildir, iCalendar in vdir layout, plain files, SQLite), so
a person's own programs see each change, and changes by hand are seen here. SQLite indexes in
`office/.index` are caches: they may be deleted at any time.

Common rules: paths are opened relative to an open folder and never through a link; a file is
replaced atomically; a writer holds a lock; files may be hostile, so reading them is bounded.

Start with office.py. May import: toolkits.workspace, runtime.files.
"""
