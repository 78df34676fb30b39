"""Mail in a folder.

mail_box.py is a Maildir, as mail programs keep it; mail_index.py finds messages in it through
SQLite; mail_resource.py gives a message the form that Google's API has; mail.py is the service.
Start with mail.py.
"""
