"""Calls become outcomes: policy, approvals, order, limits, the sandbox and its doors."""
