"""The office in a folder: what tools change there, ordinary programs can see.

calendar/ keeps iCalendar files, drive/ plain files with ids in a database, mail/ a Maildir; sheets
and tasks are SQLite files. Start with local_office.py.
"""
