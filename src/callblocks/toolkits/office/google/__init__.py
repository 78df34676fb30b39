"""The office on Google Workspace, through Google's published client.

google_office.py is the backend: mail, files, events, tasks and sheets. google_service.py asks and
tries again where that is safe; transport.py sends one request once and names its failures; auth.py
signs in. Start with google_office.py. May import: toolkits.office.backend.
"""
