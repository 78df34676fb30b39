"""The HTTP layer that every request passes: rate limits, protocol limits and error responses.

rate_limits.py counts requests and streams; protocol.py limits what uvicorn does
not; faults.py is the one shape of an error.
"""
