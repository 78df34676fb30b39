"""Faults that a test plants in the played service."""

from __future__ import annotations

import threading

import msgspec

__all__ = ("Plan", "Plans")


class Plan(msgspec.Struct, kw_only=True):
    """What goes wrong with the next requests.

    `method` is the id of the only method it befalls. `after`: the service does what is asked,
    and fails then. `cut` closes the connection instead of answering. `raw` is answered as it is.
    """

    status: int = 500
    reason: str = "backendError"
    message: str = ""
    times: int = 1
    headers: dict[str, str] = {}
    method: str = ""
    after: bool = False
    cut: bool = False
    raw: bytes | None = None


class Plans:
    """The faults to come, in order."""

    def __init__(self) -> None:
        self._plans: list[Plan] = []
        self._lock = threading.Lock()

    def add(self, plan: Plan) -> None:
        """Plant one."""
        with self._lock:
            self._plans.append(plan)

    def clear(self) -> None:
        """Plant none."""
        with self._lock:
            self._plans.clear()

    def take(self, method: str) -> Plan | None:
        """The fault of this request, if one is planned."""
        with self._lock:
            for plan in self._plans:
                if plan.method in ("", method) and plan.times > 0:
                    plan.times -= 1
                    return plan
        return None

    @property
    def left(self) -> int:
        """How many faults did not happen yet."""
        return sum(plan.times for plan in self._plans)
