"""The tools of an office, a module for each service, and what they show to models and people."""
