"""What a model is shown of a timeline.

view.py keeps the view up as entries come; section.py and layout.py write blocks as text; fold.py
keeps it within a budget; neutral.py and call_places.py make sure that no text of others acts as a
call, and that a copy of it is exact. Start with view.py.
"""
