"""The tools of an office, a module for each service.

Each module has the tools of one service and what they show to models and people: mail_tools.py,
calendar_tools.py (with event_fields.py), drive_tools.py, docs_tools.py, sheet_tools.py (with
cells.py) and task_tools.py. They know the backend by its interface alone.
Start with task_tools.py. May import: tools, toolkits.office.backend.
"""
