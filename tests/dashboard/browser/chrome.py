"""Debian's Chromium, driven by Playwright: windows that are signed in and notice what a page must not do."""

import re
from contextlib import AsyncExitStack
from pathlib import Path
from shutil import which
from typing import Any

import axe_playwright_python
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect
from playwright.async_api import TimeoutError as TimedOut
from tests.dashboard.browser.legible import CUT, OVERLAPPING

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
DESK = (1280, 800)
PHONE = (390, 844)
WORKLOAD = "/workload?apiVersion=apps%2Fv1&kind=Deployment&namespace=default&name=nginx"


def executable() -> str | None:
    """Where Chromium is; None where it is not installed."""
    return which("chromium") or which("chromium-browser")


class Window:
    """One page of the dashboard."""

    def __init__(self, page: Page, endpoint: str) -> None:
        self.page = page
        self.root = f"{endpoint}/dashboard"
        self.complaints: list[str] = []
        """Errors of scripts and breaches of the Content-Security-Policy."""
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._logged)

    def _logged(self, message: ConsoleMessage) -> None:
        refused = "status of 4" in message.text or "net::ERR" in message.text
        if message.type == "error" and not refused:
            self.complaints.append(message.text)

    async def open(self, path: str = "/") -> None:
        await self.page.goto(self.root + path)

    async def sign_in(self, token: str) -> None:
        await self.open("/login")
        await self.page.locator("#token").fill(token)
        await self.page.locator("form button.primary").click()

    async def sees(self, text: str, within: str = "body", seconds: float = 60.0) -> None:
        """Wait until a text is visible."""
        found = self.page.locator(within).get_by_text(text).locator("visible=true").first
        await found.wait_for(timeout=seconds * 1000)

    async def shows(self, selector: str, seconds: float = 60.0) -> None:
        """Wait until an element is visible."""
        await self.page.locator(selector).first.wait_for(timeout=seconds * 1000)

    async def counts(self, selector: str, number: int) -> None:
        """Wait until there are so many elements. (Functions that poll in the page would break its policy.)"""
        await expect(self.page.locator(selector)).to_have_count(number, timeout=60_000)

    async def goes(self, letter: str, path: str) -> None:
        """Press g and a letter until the page is there: the second key counts soon after the first only, and a busy
        machine may be slower than that."""
        for _ in range(10):
            await self.page.keyboard.press("g")
            await self.page.keyboard.press(letter)
            try:
                await self.page.wait_for_url(f"{self.root}/{path}", timeout=6_000)
            except TimedOut:
                continue
            return
        raise AssertionError(f"g {letter} does not lead to /{path}")

    async def searches(self, text: str) -> None:
        """Press / until the field has the focus, and type into it: a page that is being drawn may miss a key."""
        for _ in range(10):
            await self.page.keyboard.press("/")
            try:
                await expect(self.page.locator("input:focus")).to_be_visible(timeout=6_000)
            except AssertionError:
                continue
            await self.page.keyboard.type(text)
            return
        raise AssertionError("/ leads to no field")

    async def focuses(self, beginning: str) -> None:
        """Wait until the element with this text has the focus."""
        await expect(self.page.locator(":focus")).to_have_text(re.compile(rf"^{beginning}"), timeout=60_000)

    async def filled(self, selector: str) -> None:
        """Wait until an element has content."""
        await expect(self.page.locator(selector)).not_to_be_empty(timeout=60_000)

    async def faults(self) -> list[str]:
        """What axe finds wrong with the page as it is."""
        await self.page.evaluate(AXE)
        found: list[str] = await self.page.evaluate(
            """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
                one => `${one.id}: ${one.nodes.map(node => node.target.join(" ")).slice(0, 3).join(", ")}`)"""
        )
        return found

    async def cut(self) -> list[str]:
        """Texts that the window or a box cuts off, and that no part of the page scrolls into sight."""
        found: list[str] = await self.page.evaluate(CUT)
        return found

    async def overlapping(self) -> list[str]:
        """Texts that lie on one another."""
        found: list[str] = await self.page.evaluate(OVERLAPPING)
        return found

    async def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        wider: int = await self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return max(0, wider)


class Chrome:
    """A running Chromium."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    async def window(
        self,
        endpoint: str,
        token: str = "",
        size: tuple[int, int] = DESK,
        colours: Any = "light",
        locale: str = "en-US",
    ) -> Window:
        """A window with cookies of its own; signed in when there is a token."""
        context = await self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=colours,
            locale=locale,
            ignore_https_errors=True,
        )
        context.set_default_timeout(60_000)
        made = Window(await context.new_page(), endpoint)
        if token:
            await made.sign_in(token)
            await made.shows(".top .brand")
        return made

    async def blank(self) -> Page:
        """An empty page that no policy restricts."""
        return await (await self._browser.new_context()).new_page()


async def chrome(stack: AsyncExitStack) -> Chrome:
    """Start Chromium; it ends with the stack."""
    driver = await stack.enter_async_context(async_playwright())
    # Containers forbid Chromium's own sandbox; what is shown here is ours alone.
    browser = await driver.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
    stack.push_async_callback(browser.close)
    return Chrome(browser)
