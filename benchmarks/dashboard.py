"""The dashboard: the first page in a real Chromium, very long lists there, and what open dashboards cost.

Every open dashboard is a user of their own with a token of their own, the harder case: tabs of one user share more.
Half of them show the overview, half the list of workloads. Their cost is the control plane's processor time while
workloads change, less that of the same changes without them.
"""

import asyncio
import ssl
import statistics
import sys
import time
from shutil import which
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
import uvloop

from benchmarks.dashboard_world import World, world
from benchmarks.result import Result

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
OPEN, CHANGES = 50, 20.0
SECONDS = 20.0
VISITS = 5
FRAMES = 240
NOTE = """
new MutationObserver((_, self) => {
  if (!document.querySelector("SELECTOR")) return;
  self.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
}).observe(document, { childList: true, subtree: true });
"""
SCROLL = """
async (frames) => {
  const box = document.querySelector(".tbody");
  const taken = [];
  let before = await new Promise(requestAnimationFrame);
  for (let number = 0; number < frames; number++) {
    box.scrollTop += 400;
    const now = await new Promise(requestAnimationFrame);
    taken.push(now - before);
    before = now;
  }
  return taken;
}
"""


class Spent(NamedTuple):
    """What the control plane did for a while."""

    share: float
    """Percent of a core."""
    changes: float
    """In a second."""
    seconds: float


def run() -> list[Result]:
    """All figures."""
    with world(clusters=100, workloads=1000, users=OPEN + VISITS) as made:
        figures = [*uvloop.run(_first_page(made)), *uvloop.run(_cost(made))]
    with world(clusters=1000, workloads=10_000, users=1) as made:
        return [*figures, *uvloop.run(_long_lists(made))]


async def _cost(made: World) -> list[Result]:
    process = psutil.Process(made.pid)
    await _spent(made, process, 5.0)  # warm
    alone = await _spent(made, process, SECONDS)
    counts = [0] * OPEN
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    topics = ("overview", "workloads")
    connections = [await _stream(made, context, token, topics[n % 2]) for n, token in enumerate(made.tokens[:OPEN])]
    readers = [asyncio.ensure_future(_read(one, counts, number)) for number, one in enumerate(connections)]
    await asyncio.sleep(5)
    idle = sum(process.cpu_times()[:2])
    await asyncio.sleep(10)
    idle = (sum(process.cpu_times()[:2]) - idle) / 10
    before = list(counts)
    watched = await _spent(made, process, SECONDS)
    received = [now - then for now, then in zip(counts, before, strict=True)]
    for reader in readers:
        reader.cancel()
    if min(received) < SECONDS:
        raise AssertionError(f"a dashboard heard of {min(received)} changes only: {received}")
    return [
        Result(f"control plane alone, {CHANGES:g} changes/s", alone.share, "% of a core"),
        Result(f"{OPEN} open dashboards on top", watched.share - alone.share, "% of a core", 10.0),
        Result(f"{OPEN} open dashboards and no changes", 100 * idle, "% of a core"),
        Result("changes while they were open", watched.changes, "1/s", 0.95 * CHANGES, higher_is_better=True),
        Result("messages of one dashboard", statistics.median(received) / watched.seconds, "1/s"),
    ]


async def _spent(made: World, process: psutil.Process, seconds: float) -> Spent:
    """Processor time of the control plane while workloads change."""
    before = sum(process.cpu_times()[:2])
    begun = time.perf_counter()
    made.change(CHANGES, seconds)
    changes = await asyncio.get_running_loop().run_in_executor(None, made.changed)
    took = time.perf_counter() - begun
    return Spent(100 * (sum(process.cpu_times()[:2]) - before) / took, changes / took, took)


async def _stream(made: World, context: ssl.SSLContext, token: str, topic: str) -> Connection:
    host = made.endpoint.removeprefix("https://")
    address, _, port = host.rpartition(":")
    reader, writer = await asyncio.open_connection(address, int(port), ssl=context)
    path = f"/dashboard/api/stream?topics={topic}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise AssertionError(head)
    return reader, writer


async def _read(connection: Connection, counts: list[int], number: int) -> None:
    while data := await connection[0].read(65536):
        counts[number] += data.count(b"event: changed")


async def _first_page(made: World) -> list[Result]:
    if (found := _chromium()) is None:
        return []
    from playwright.async_api import async_playwright

    paints, data = [], []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        await (await browser.new_page()).goto("about:blank")
        for token in made.tokens[-VISITS:]:  # each the first visit of its user, with an empty cache
            page = await _page(browser, made, token, ".counts .count-value")
            await page.goto(f"{made.endpoint}/dashboard/")
            data.append(await _painted(page))
            entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            paints.append(await page.evaluate(entry))
            await page.context.close()
        await browser.close()
    return [
        Result("first contentful paint, 100 clusters, 1,000 workloads", statistics.median(paints) / 1e3, "s", 1.0),
        Result("overview painted with its data", statistics.median(data) / 1e3, "s", 1.0),
    ]


async def _long_lists(made: World) -> list[Result]:
    if (found := _chromium()) is None:
        return []
    from playwright.async_api import async_playwright

    figures = []
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for name in ("workloads", "clusters"):
            page = await _page(browser, made, made.tokens[0], ".table .td")
            await page.goto(f"{made.endpoint}/dashboard/{name}")
            first = await _painted(page) / 1e3
            request = await page.evaluate(
                f"performance.getEntriesByType('resource').find(one => one.name.includes('/api/{name}')).duration"
            )
            made.change(CHANGES, 10.0)
            frames, busy = await _scrolled(page)
            await asyncio.get_running_loop().run_in_executor(None, made.changed)
            slow = statistics.quantiles(frames, n=20)[-1]
            size = "10,000 workloads" if name == "workloads" else "1,000 clusters"
            figures += [
                Result(f"{size}: list painted", first, "s", 2.0),
                Result(f"{size}: first request of the list", request, "ms"),
                Result(f"{size}: frame while scrolling and changing, p95", slow, "ms", 34.0),
                Result(f"{size}: processor time of the page for a frame", busy, "ms", 16.0),
            ]
            await page.context.close()
        await browser.close()
    return figures


async def _scrolled(page: "Page") -> tuple[list[float], float]:
    """Milliseconds between frames while the list is scrolled, and what the page itself computed for each."""
    tools = await page.context.new_cdp_session(page)
    await tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = await _busy(tools)
    frames: list[float] = await page.evaluate(SCROLL, FRAMES)
    return frames, 1e3 * (await _busy(tools) - before) / FRAMES


async def _busy(tools: Any) -> float:
    metrics = (await tools.send("Performance.getMetrics"))["metrics"]
    found: float = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    return found


async def _page(browser: "Browser", made: World, token: str, sign: str) -> "Page":
    """A page of a browser that is signed in and has cached nothing."""
    context = await browser.new_context(ignore_https_errors=True, viewport={"width": 1280, "height": 800})
    reply = await context.request.post(f"{made.endpoint}/dashboard/login", data={"token": token})
    if reply.status != 200:
        raise AssertionError(await reply.text())
    page = await context.new_page()
    await page.add_init_script(NOTE.replace("SELECTOR", sign))
    return page


async def _painted(page: Any) -> float:
    """Milliseconds from the click until the wanted element was on the screen."""
    for _ in range(1000):
        if found := await page.evaluate("window.painted"):
            return float(found)
        await asyncio.sleep(0.02)
    raise TimeoutError("the page showed nothing")


def _chromium() -> str | None:
    found = which("chromium") or which("chromium-browser")
    if found is None:
        print("  Chromium is not installed here: pages are not measured", file=sys.stderr)
    return found


if __name__ == "__main__":
    for result in run():
        print(result, file=sys.stderr)
