"""The input of a call as growing JSON, whatever dialect it is written in."""

import json


class ArgumentDeltas:
    def __init__(self, dialect, spec, *, restores=False):
        self.agrees = True

    def feed(self, raw):
        return ""

    def finish(self, given):
        return json.dumps(given, ensure_ascii=False)


class TextDeltas(ArgumentDeltas):
    def finish(self, given):
        return given.get("input", "")
