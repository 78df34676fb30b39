"""Mail in a folder.

mail_resource.py reads messages of a Maildir, as mail programs keep it, and gives them the form that
Google's API has; mail_index.py finds messages through SQLite; mail.py is the service.
Start with mail.py.
"""
