"""Artifacts: files kept under the SHA-256 digest of their content.

artifacts.py keeps and returns them; mime.py and magic.py tell their types; validate.py says whether
a file opens as what it claims to be. Start with artifacts.py. May import: core.
"""
