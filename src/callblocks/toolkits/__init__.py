"""The tools that come with callblocks.

Each toolkit is a function that makes tools for a place; standard.py puts them together. Files,
HTTP, commands and the timeline are one module each; exec, documents, search, web and office are
folders. Start with standard.py. May import: everything below session.
"""
