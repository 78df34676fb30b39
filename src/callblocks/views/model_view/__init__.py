"""The model view: a timeline as the text that is sent to a model.

view.py updates the view as entries come; section.py writes blocks as text; fold.py keeps it within
a budget; neutral.py escapes untrusted text, so that none of it is read as a call and a model can
still copy it exactly. Start with view.py.
"""
