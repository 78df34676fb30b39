"""Mail, files, events, documents, sheets and tasks: one interface, two backends.

backend.py is what the tools ask of an office; tools/ has the tools; local/ is an office in a
folder, google/ is Google Workspace; open_office.py chooses. Start with backend.py.
"""
