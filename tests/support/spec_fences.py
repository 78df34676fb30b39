"""Transcripts with tool fences, and what each is: prose, and tool chunks, in their order."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ("FENCES", "Transcript")


class Transcript(msgspec.Struct, frozen=True):
    """A text, the chunks that it is read as, and how a chat writes and draws it."""

    text: str
    chunks: list[str | dict[str, Any]]
    written: str
    drawn: str


CATS = Transcript(
    text="""\
The assistant is going to search for cats.

```tool search call_123
state: output-available
input:
  query: cats
output:
  results:
    - title: All About Cats
      url: https://example.com/cats
```

Here are the results we found!
""",
    chunks=[
        "The assistant is going to search for cats.\n",
        {
            "type": "tool",
            "toolName": "search",
            "toolCallId": "call_123",
            "state": "output-available",
            "input": {"query": "cats"},
            "output": {"results": [{"title": "All About Cats", "url": "https://example.com/cats"}]},
        },
        "\nHere are the results we found!",
    ],
    written="""\
The assistant is going to search for cats.


<tool>search(query=cats)
{&quot;results&quot;: [{&quot;title&quot;: &quot;All About Cats&quot;, \
&quot;url&quot;: &quot;https://example.com/cats&quot;}]}</tool>

Here are the results we found!""",
    drawn="""\
The assistant is going to search for cats.

🔧 search (hide details)
  search(query=cats)
    {"results": [{"title": "All About Cats", "url": "https://example.com/cats"}]}

Here are the results we found!""",
)

WEATHER = Transcript(
    text="""\
I looked up the weather forecast.

```tool name=weather-search id=call_42
state: output-available
input:
  location: Paris
output:
  summary: "Light rain expected"
  temperatureC: 18
```

Let me know if you need anything else!
""",
    chunks=[
        "I looked up the weather forecast.\n",
        {
            "type": "tool",
            "toolName": "weather-search",
            "toolCallId": "call_42",
            "state": "output-available",
            "input": {"location": "Paris"},
            "output": {"summary": "Light rain expected", "temperatureC": 18},
        },
        "\nLet me know if you need anything else!",
    ],
    written="""\
I looked up the weather forecast.


<tool>weather-search(location=Paris)
{&quot;summary&quot;: &quot;Light rain expected&quot;, &quot;temperatureC&quot;: 18}</tool>

Let me know if you need anything else!""",
    drawn="""\
I looked up the weather forecast.

🔧 weather-search (hide details)
  weather-search(location=Paris)
    {"summary": "Light rain expected", "temperatureC": 18}

Let me know if you need anything else!""",
)

COFFEE = Transcript(
    text="""\
I'll check two sources.

```tool search call_a
state: output-available
input:
  query: "coffee shops near me"
output:
  results:
    - name: Local Beans
      distance: 0.3
```

```tool map-directions call_b
state: output-available
input:
  origin: "123 Main St"
  destination: "Local Beans"
output:
  etaMinutes: 5
```

Both tools reported back successfully.
""",
    chunks=[
        "I'll check two sources.\n",
        {
            "type": "tool",
            "toolName": "search",
            "toolCallId": "call_a",
            "state": "output-available",
            "input": {"query": "coffee shops near me"},
            "output": {"results": [{"name": "Local Beans", "distance": 0.3}]},
        },
        {
            "type": "tool",
            "toolName": "map-directions",
            "toolCallId": "call_b",
            "state": "output-available",
            "input": {"origin": "123 Main St", "destination": "Local Beans"},
            "output": {"etaMinutes": 5},
        },
        "\nBoth tools reported back successfully.",
    ],
    written="""\
I'll check two sources.


<tool>search(query=coffee shops near me)
{&quot;results&quot;: [{&quot;distance&quot;: 0.3, \
&quot;name&quot;: &quot;Local Beans&quot;}]}</tool>


<tool>map-directions(origin=123 Main St, destination=Local Beans)
{&quot;etaMinutes&quot;: 5}</tool>

Both tools reported back successfully.""",
    drawn="""\
I'll check two sources.

🔧 2 tool calls (hide details)
  search(query=coffee shops near me)
    {"results": [{"distance": 0.3, "name": "Local Beans"}]}
  map-directions(origin=123 Main St, destination=Local Beans) → {"etaMinutes": 5}

Both tools reported back successfully.""",
)

BOOKING = Transcript(
    text="""\
Trying the booking service now.

```tool booking-service call_failure
state: output-error
input:
  reservationId: 123
errorText: "Reservation not found"
```

I'll fall back to manual booking.
""",
    chunks=[
        "Trying the booking service now.\n",
        {
            "type": "tool",
            "toolName": "booking-service",
            "toolCallId": "call_failure",
            "state": "output-error",
            "input": {"reservationId": 123},
            "errorText": "Reservation not found",
        },
        "\nI'll fall back to manual booking.",
    ],
    written="""\
Trying the booking service now.


<tool>booking-service(reservationId=123)
❌ Reservation not found</tool>

I'll fall back to manual booking.""",
    drawn="""\
Trying the booking service now.

🔧 booking-service, failed (hide details)
  booking-service(reservationId=123) → ❌ Reservation not found

I'll fall back to manual booking.""",
)

FENCES = {"cats": CATS, "weather": WEATHER, "coffee": COFFEE, "booking": BOOKING}
