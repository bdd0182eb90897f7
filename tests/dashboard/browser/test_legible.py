"""Every text of every page can be read; and the checks that say so find what cannot."""

from typing import TYPE_CHECKING

import pytest
from tests.dashboard.browser.test_browser import PAGES, admin, settled
from tests.dashboard.world import Dashboards

if TYPE_CHECKING:
    from tests.dashboard.browser.chrome import Chrome

CUT = {
    "by the window": "<p style='white-space: nowrap'>{}</p>",
    "by a box": "<div style='width: 100px; overflow: hidden'><p style='white-space: nowrap'>{}</p></div>",
    "by the bottom of a box": "<div style='width: 100px; height: 30px; overflow: hidden'><p>{}</p></div>",
    "by a box in one that scrolls": "<div style='overflow: auto'>"
    "<div style='width: 9px; overflow: clip'><span style='white-space: nowrap'>{}</span></div></div>",
}
WHOLE = {
    "in lines": "<p>{}</p>",
    "scrolled": "<div style='overflow-x: auto'><p style='white-space: nowrap'>{}</p></div>",
    "with dots": "<p style='white-space: nowrap; overflow: hidden; text-overflow: ellipsis'>{}</p>",
    "not shown": "<p hidden style='white-space: nowrap'>{}</p>",
}
WORDS = "a text that is far too long for the width of a phone " * 3


@pytest.mark.parametrize("way", CUT | WHOLE)
async def test_a_text_that_is_cut_is_found_and_no_other(chromium: "Chrome", way: str) -> None:
    from tests.dashboard.browser.chrome import PHONE, Window

    window = Window(await chromium.blank(), "")
    await window.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    planted = (CUT | WHOLE)[way].format(WORDS)
    await window.page.set_content(f"<meta charset=utf-8><main><p>before</p>{planted}<p>behind</p></main>")
    assert await window.cut() == ([WORDS[:60]] if way in CUT else [])


async def test_texts_on_one_another_are_found(chromium: "Chrome") -> None:
    from tests.dashboard.browser.chrome import Window

    window = Window(await chromium.blank(), "")
    await window.page.set_content(
        "<main><p>above</p><p id=moved>moved</p>"
        "<div style='height: 20px; overflow: auto'><p>seen</p><p>scrolled away</p></div><p>below</p></main>"
    )
    assert await window.overlapping() == []
    await window.page.locator("#moved").evaluate("one => { one.style.marginTop = '-30px'; }")
    assert await window.overlapping() == ["above / moved"]


async def test_a_text_that_grows_out_of_a_page_is_found_there(dashboards: Dashboards, chromium: "Chrome") -> None:
    """What the checks say of pages below would not say much if it were always nothing."""
    from tests.dashboard.browser.chrome import PHONE

    window = await chromium.window(dashboards.world.endpoint, await admin(dashboards), PHONE)
    await window.open("/workloads")
    await window.sees("No workload matches.")
    assert (await window.cut(), await window.overlapping(), await window.overflow()) == ([], [], 0)
    await window.page.locator("main h1").evaluate(
        "one => { one.style.whiteSpace = 'nowrap'; one.textContent += 's'.repeat(80); }"
    )
    assert len(await window.cut()) == 1
    assert await window.overflow() > 0


@pytest.mark.parametrize("width", [390, 1280])
async def test_every_text_of_every_page_can_be_read(federation: Dashboards, chromium: "Chrome", width: int) -> None:
    await settled(federation)
    window = await chromium.window(federation.world.endpoint, await admin(federation), (width, 844))
    for path in PAGES:
        await window.open(path)
        await window.shows("main h1")
        await window.counts(".loading", 0)
        assert await window.cut() == [], path
        assert await window.overlapping() == [], path
    assert window.complaints == []
