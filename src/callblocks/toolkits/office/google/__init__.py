"""The office on Google Workspace, through Google's published client.

office.py is the backend: mail, files, events, tasks and sheets. google_service.py asks and tries
again where that is safe; transport.py sends one request once and names its
failures; auth.py signs in. Start with office.py. May import: toolkits.office.backend.
"""
