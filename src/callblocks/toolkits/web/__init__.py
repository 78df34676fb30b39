"""The web: searching it by engines, and reading its pages.

web_tools.py has the tools; engines.py has an adapter for each search engine; fetch.py reads many
pages at once and obeys robots.txt.
"""
