"""Pages behind the lists, in a real browser."""

from typing import TYPE_CHECKING

import pytest
from tests.dashboard.test_details import REGISTRY
from tests.dashboard.world import Dashboards, deployment, policy
from tests.membership.world import eventually

from karmada.dashboard.kinds import CLUSTERS

if TYPE_CHECKING:
    from tests.dashboard.browser.chrome import Chrome, Window


async def signed_in(
    federation: Dashboards, chromium: "Chrome", path: str, size: tuple[int, int] = (1280, 800)
) -> "Window":
    code: str = (await federation.link())["code"]
    window = await chromium.window(federation.world.endpoint, code, size)
    await window.open(path)
    return window


async def test_a_cluster_shows_models_taints_labels_nodes_and_events(
    federation: Dashboards, chromium: "Chrome"
) -> None:
    window = await signed_in(federation, chromium, "/clusters/member1")
    await window.sees("No taints: everything may be placed here.")
    await window.sees("memory", "section[aria-labelledby=h-models] table")
    await window.sees("Ready", "section[aria-labelledby=h-nodes] tbody")
    await window.shows("section[aria-labelledby=h-events] .events li")
    taint = {"key": "maintenance", "value": "tonight", "effect": "NoSchedule"}
    changes = {"metadata": {"labels": {"tier": "gold"}}, "spec": {"taints": [taint]}}
    await federation.hub.resource(CLUSTERS).patch("member1", changes)
    await window.sees("maintenance=tonight:NoSchedule", ".chip.warn")
    await window.sees("tier=gold", ".chip")
    assert window.complaints == []


async def test_what_if_shows_moves_and_writes_nothing(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment())
    window = await signed_in(federation, chromium, "/what-if")
    await window.sees("Take a cluster down or change an object on this page.")
    await window.page.get_by_label("member1").check()
    await window.sees("0/1 clusters are available", ".problems")
    await window.page.get_by_label("member1").uncheck()
    await window.sees("Take a cluster down or change an object on this page.")
    await window.page.locator("select").select_option(label="Deployment default/nginx")
    replicas = window.page.locator(".cm-line", has_text="replicas: 2")
    await replicas.click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.press("Backspace")
    await window.page.keyboard.type("7")
    await window.sees("2 → 7", ".move")
    held = await federation.hub.resource(await federation.kind("apps/v1", "Deployment")).get("nginx", "default")
    assert held["spec"]["replicas"] == 2
    assert window.complaints == []


async def test_the_wizard_shows_a_command_with_everything_in_it(federation: Dashboards, chromium: "Chrome") -> None:
    window = await signed_in(federation, chromium, "/clusters")
    await window.page.get_by_role("button", name="Join a cluster").click()
    await window.page.locator("#join-name").fill("Not A Name")
    assert await window.page.get_by_role("button", name="Show the command").count() == 0
    await window.page.get_by_text("Pull", exact=True).click()
    await window.page.locator("#join-name").fill("member3")
    await window.page.get_by_role("button", name="Create a token").click()
    await window.shows(".wizard .command")
    command = await window.page.locator(".wizard .command pre").inner_text()
    for part in (federation.world.endpoint.removeprefix("https://"), "--token", "--cluster-name member3"):
        assert part in command
    assert window.complaints == []


async def test_a_terminal_in_a_pod_answers(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment(replicas=1))
    path = "/workload?apiVersion=apps%2Fv1&kind=Deployment&namespace=default&name=nginx"
    window = await signed_in(federation, chromium, path)
    await window.page.locator(".node.t-pod.n-ok").click()
    await window.page.get_by_role("link", name="Terminal").click()
    await window.sees("Connected")
    await window.page.locator(".terminal").click()
    await window.page.keyboard.type("hostname\n")
    pod = window.page.url.split("/")[-2]
    await window.sees(pod, ".terminal")
    assert window.complaints == []


@pytest.mark.parametrize("width", [390, 1280])
async def test_what_was_found_is_shown_whole(federation: Dashboards, chromium: "Chrome", width: int) -> None:
    await federation.apply(REGISTRY, policy("nginx", "member1", "member2"), deployment())
    browser = await federation.admin()

    async def indexed() -> bool:
        return len(await browser.api("search?q=nginx")) == 2

    await eventually(indexed)
    window = await signed_in(federation, chromium, "/search", (width, 844))
    await window.page.locator("input.filter").fill("nginx")
    await window.page.locator("form.filters button").click()
    await window.counts(".found tbody tr", 2)
    for name in ("member1", "member2"):
        assert await window.page.locator(".found td", has_text=name).is_visible()
    assert await window.cut() == []
    assert await window.faults() == []
    await window.page.locator(".found button").first.click()
    await window.sees("kind: Deployment", ".drawer")
    assert window.complaints == []


async def test_long_lists_draw_what_is_in_sight(dashboards: Dashboards, chromium: "Chrome") -> None:
    await dashboards.apply(*(deployment(f"shop-{number:03}") for number in range(300)))
    window = await signed_in(dashboards, chromium, "/workloads")
    await window.sees("300 workloads")
    rows = window.page.locator(".table.workloads .tbody .tr")
    await rows.nth(5).wait_for()
    assert await rows.count() < 60
    await window.page.locator(".tbody").focus()
    await window.page.keyboard.press("End")
    await window.sees("shop-299", ".table.workloads")
    assert await rows.count() < 60
    assert window.complaints == []
