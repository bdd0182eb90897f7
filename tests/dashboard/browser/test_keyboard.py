"""Everything can be reached without a mouse."""

from typing import TYPE_CHECKING

from tests.dashboard.world import Dashboards, deployment, policy

if TYPE_CHECKING:
    from tests.dashboard.browser.chrome import Chrome

WORKLOAD = "/workload?apiVersion=apps%2Fv1&kind=Deployment&namespace=default&name=nginx"
PLACES = {
    "c": "clusters",
    "w": "workloads",
    "p": "policies",
    "i": "what-if",
    "s": "search",
    "e": "events",
    "y": "editor",
    "o": "",
}


async def test_two_keys_lead_to_every_page(dashboards: Dashboards, chromium: "Chrome") -> None:
    window = await chromium.window(dashboards.world.endpoint, (await dashboards.link())["code"])
    await window.shows("main h1")
    for letter, path in PLACES.items():
        await window.goes(letter, path)
        await window.shows("main h1")
        # Editors take keys as text: those who leave one press Escape and Tab, or click.
        await window.page.locator("main h1").first.click()
    await window.page.keyboard.press("?")
    await window.sees("From box to box of the graph", "dialog")
    await window.page.keyboard.press("Escape")
    await window.counts("dialog[open]", 0)
    assert window.complaints == []


async def test_boxes_and_arrows_of_the_graph_open_by_keys(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment(replicas=1))
    window = await chromium.window(federation.world.endpoint, (await federation.link())["code"])
    await window.open(WORKLOAD)
    await window.shows(".node.t-pod.n-ok")
    press = window.page.keyboard.press
    await window.page.locator(".node.t-template").focus()
    for key, kind in (
        ("ArrowDown", "Policy"),
        ("ArrowDown", "Binding"),
        ("ArrowUp", "Policy"),
        ("ArrowUp", "Template"),
        ("ArrowRight", "Cluster"),
        ("ArrowRight", "Work"),
        ("ArrowRight", "Object in member"),
        ("ArrowRight", "Pod"),
        ("ArrowLeft", "Object in member"),
    ):
        await press(key)
        await window.focuses(kind)
    await press("Enter")
    await window.sees("Object in member: nginx", ".drawer h2")
    await press("Escape")
    await window.counts(".drawer", 0)
    await window.focuses("Object in member")
    arrows = window.page.locator(".edge .hit")
    names = [await arrow.get_attribute("aria-label") or "" for arrow in await arrows.all()]
    assert len(names) >= 6
    assert all(name.startswith("Arrow from ") for name in names)
    for number, name in enumerate(names):
        await arrows.nth(number).focus()
        await press("Enter")
        start, _, end = name.removeprefix("Arrow from ").partition(" to ")
        await window.sees(f"{start} → {end}", ".drawer h2")
        await press("Escape")
        await window.counts(".drawer", 0)
    box = await arrows.first.bounding_box()
    assert box is not None
    await window.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await window.shows(".drawer .ends")
    assert window.complaints == []
