"""Mail in a folder: a Maildir, found through an index. Start with mail.py."""
