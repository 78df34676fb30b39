"""What every request passes: how often a client may ask, and how faults are answered.

rate_limits.py counts requests and streams; protocol.py limits what uvicorn does
not; faults.py is the one shape of an error.
"""
