"""The office on Google Workspace, through its published client. Start with office.py."""
