"""Artifacts: files kept under the SHA-256 digest of their content.

artifacts.py keeps and returns them; media_types.py tells their types; validate.py says whether a
file opens as what it claims to be. Start with artifacts.py. May import: core.
"""
