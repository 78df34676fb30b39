"""The page in Chromium, against the real server on loopback.

- First paint and first contentful paint: what the browser itself notes, the median of some loads.
- Event to pixel: the model says the time; a look at each frame finds the first one whose document
  has it. The frame after that one is when it is surely on the screen.
- Memory: the heap after a collection, and the nodes, with a chat of many blocks open.
- Chats: two thousand of them are listed and searched, and what an idle page is sent is counted.
- Frames: gaps between frames while 200 events a second come for five seconds. One above 25 ms has
  skipped at least a frame of sixty a second.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from bench.timing import print_table

__all__ = ("main",)

LOADS = 7
EVENTS = 100
RATE = 200
SECONDS = 5
BLOCKS = 10_000
CHATS = 2000

_FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
_FRAME = 25  # milliseconds; a frame of sixty a second has 17
_PAINTS = """() => Object.fromEntries(
  performance.getEntriesByType("paint").map((one) => [one.name, one.startTime]))"""
_WATCH = """() => {
  const said = () => [...document.querySelectorAll("call-blocks")]
    .map((one) => one.shadowRoot?.textContent ?? "").join(" ");
  const look = globalThis.look = { gaps: [], delays: [], over: false };
  let seen = new Set(), fresh = [], before = performance.now();
  const frame = (now) => {
    look.gaps.push(now - before);
    before = now;
    for (const sent of fresh) look.delays.push(performance.timeOrigin + now - sent);
    const text = said();
    fresh = [...text.matchAll(/t(\\d+\\.\\d+)/g)].map((one) => +one[1]);
    fresh = fresh.filter((one) => !seen.has(one));
    fresh.forEach((one) => seen.add(one));
    look.over = fresh.length === 0 && text.includes("over");
    if (!look.over) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def main() -> None:
    """Print the table."""
    found = shutil.which("chromium")
    if found is None:
        sys.exit("there is no chromium on this machine: apt-get install chromium")
    with _server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=_FLAGS)
        try:
            rows = [*_paints(browser, address), *_pixels(browser, address)]
            rows += _streamed(browser, address)
            rows += _remembered(browser, address)
            rows += _listed(address)
        finally:
            browser.close()
    print_table("The page in Chromium, on loopback", ["what", "measured"], rows)


def _paints(browser: Browser, address: str) -> list[list[str]]:
    """Each load has a fresh profile: nothing is cached."""
    noted: dict[str, list[float]] = {"first-paint": [], "first-contentful-paint": []}
    for _ in range(LOADS):
        with _opened(browser, address) as page:
            page.wait_for_function("() => performance.getEntriesByType('paint').length >= 2")
            for name, at in page.evaluate(_PAINTS).items():
                noted[name].append(at)
    words = {"first-paint": "first paint", "first-contentful-paint": "first contentful paint"}
    return [[f"{words[name]}, median of {LOADS}", _ms(median(all))] for name, all in noted.items()]


def _pixels(browser: Browser, address: str) -> list[list[str]]:
    delays = _watched(browser, address, EVENTS, 20)["delays"]
    late = quantiles(delays, n=20)[-1]
    return [
        [f"event to pixel, median of {len(delays)}", _ms(median(delays))],
        ["event to pixel, 95th percentile", _ms(late)],
    ]


def _streamed(browser: Browser, address: str) -> list[list[str]]:
    look = _watched(browser, address, RATE * SECONDS, RATE)
    gaps = look["gaps"][1:]
    dropped = [gap for gap in gaps if gap > _FRAME]
    told = f"{len(dropped)} of {len(gaps)}, longest {_ms(max(gaps))}"
    return [
        [f"frames late at {RATE} events a second, {SECONDS} s", told],
        ["event to pixel meanwhile, median", _ms(median(look["delays"]))],
    ]


def _remembered(browser: Browser, address: str) -> list[list[str]]:
    with _opened(browser, f"{address}/?chat=long") as page:
        began = perf_counter()
        page.wait_for_function("() => document.querySelectorAll('call-blocks').length > 0")
        shown = perf_counter() - began
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        noted = {one["name"]: one["value"] for one in metrics}
        return [
            [f"a chat of {BLOCKS:,} blocks: shown after", _ms(shown * 1000)],
            [f"a chat of {BLOCKS:,} blocks: heap", f"{noted['JSHeapUsedSize'] / 1e6:.1f} MB"],
            [f"a chat of {BLOCKS:,} blocks: nodes", f"{noted['Nodes']:,.0f}"],
        ]


def _watched(browser: Browser, address: str, count: int, rate: int) -> dict[str, Any]:
    """Say something to the model by the page, and look at each frame until it is over."""
    with _opened(browser, address) as page:
        # The sidebar is filled by the same module that listens to the box.
        page.wait_for_selector("#side a")
        page.evaluate(_WATCH)
        box = page.locator("textarea")
        box.fill(f"tick {count} {rate}")
        box.press("Enter")
        page.wait_for_function("() => look.over", timeout=60_000)
        return page.evaluate("() => look")


@contextmanager
def _opened(browser: Browser, address: str) -> Generator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.goto(address, wait_until="commit")
        yield page
    finally:
        context.close()


@contextmanager
def _server() -> Generator[str]:
    command = [sys.executable, "-m", "bench.page_app", str(BLOCKS), str(CHATS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        finally:
            child.terminate()


def _listed(address: str) -> list[list[str]]:
    """The list of many chats, a search in them, and what an idle page is sent."""
    import httpx2

    with httpx2.Client(base_url=address, timeout=60) as client:
        # The first search makes the index.
        client.get("/api/chats/search", params={"q": "island"})

        def took(path: str, **query: str | int) -> float:
            began = perf_counter()
            client.get(path, params=query).raise_for_status()
            return (perf_counter() - began) * 1000

        lists = [took("/api/chats", limit=40) for _ in range(LOADS)]
        finds = [took("/api/chats/search", q=f"island number {CHATS // 2}") for _ in range(LOADS)]
        with client.stream("GET", "/api/chats/stream") as response:
            began, size = perf_counter(), 0
            for piece in response.iter_raw():
                size += len(piece)
                if perf_counter() - began > SECONDS * 2:
                    break
            idle = size / (perf_counter() - began)
    return [
        [f"{CHATS:,} chats: listed", _ms(median(lists))],
        [f"{CHATS:,} chats: searched", _ms(median(finds))],
        ["an idle page is sent", f"{idle:.0f} bytes a second"],
    ]


def _ms(value: float) -> str:
    return f"{value:,.0f} ms"


if __name__ == "__main__":
    main()
