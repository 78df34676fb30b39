"""The drive of a local office: plain files and folders, with ids in a database beside them.

Start with drive.py; drive_scan.py compares the folders with the database.
"""
