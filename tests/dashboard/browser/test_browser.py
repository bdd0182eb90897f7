"""The dashboard in a real browser, on a federation of simulated members."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.dashboard.world import Dashboards, deployment, policy
from tests.membership.world import QUICK, World, eventually

from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

if TYPE_CHECKING:
    from tests.dashboard.browser.chrome import Chrome

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
WORKLOAD = "/workload?apiVersion=apps%2Fv1&kind=Deployment&namespace=default&name=nginx"


async def admin(federation: Dashboards) -> str:
    """A one-time code of the administrator, of members too."""
    code: str = (await federation.link())["code"]
    return code


async def test_signing_in_with_a_token_shows_the_federation(federation: Dashboards, chromium: "Chrome") -> None:
    window = await chromium.window(federation.world.endpoint)
    await window.open("/clusters")
    assert window.page.url.endswith("/dashboard/login")
    await window.sign_in("not.a.token")
    await window.sees("The token was not accepted.")
    await window.sign_in(await admin(federation))
    await window.sees("Everything is well.")
    await window.sees("member2")
    await window.shows(".l-live")
    await window.page.get_by_role("button", name="Sign out").click()
    await window.shows("#token")
    assert window.complaints == []


async def test_a_deployment_is_seen_to_spread_as_it_happens(federation: Dashboards, chromium: "Chrome") -> None:
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.open("/workloads")
    await window.sees("No workload matches.")
    await window.page.evaluate("window.sameDocument = true")
    await federation.apply(policy("nginx", "member1", "member2"), deployment())
    await window.sees("Healthy", ".table.workloads")
    await window.page.get_by_role("link", name="nginx", exact=True).first.click()
    await window.shows("h1 .b-ok")
    await window.counts(".node.t-pod.n-ok", 4)
    deployments = federation.hub.resource(DEPLOYMENTS)
    await deployments.patch("nginx", {"spec": {"replicas": 3}}, "default")
    await window.sees("3 replicas wanted")
    await window.shows(".node.t-cluster >> text=3 replicas")
    assert await window.page.evaluate("window.sameDocument") is True
    assert window.complaints == []


async def test_a_member_that_goes_down_turns_red_with_the_reason(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1", "member2"), deployment())
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.sees("Everything is well.")
    await federation.members["member2"].change_faults(down=True)
    await window.shows("a.member.s-bad")
    await window.sees("cluster member2 is not ready", ".problems")
    await window.open("/clusters")
    await window.shows(".badge.b-bad")
    await window.open(WORKLOAD)
    await window.shows(".node.n-bad.t-cluster")
    await window.page.locator(".node.n-bad.t-cluster").click()
    await window.sees("the cluster is not ready", ".drawer")
    await window.page.keyboard.press("Escape")
    await window.counts(".drawer", 0)
    await window.sees("Bring member2 back", ".why")
    assert window.complaints == []


async def test_a_policy_is_edited_with_a_preview_and_applied(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment())
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.open("/policies")
    await window.page.get_by_role("link", name="default/nginx").click()
    await window.shows(".preview .cm-content")
    editor = window.page.locator(".preview .cm-content")
    await editor.get_by_text("member1").click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.press("Backspace")
    await window.page.keyboard.type("2")
    await window.sees("goes to member2", ".move")
    held = await federation.hub.resource(POLICIES).get("nginx", "default")
    assert held["spec"]["placement"]["clusterAffinity"]["clusterNames"] == ["member1"]
    await window.page.get_by_label("Take over fields that others manage").check()
    await window.page.get_by_role("button", name="Apply").click()
    await window.sees("configured", ".done")

    async def moved() -> Any:
        found = await federation.hub.resource(POLICIES).get("nginx", "default")
        return found["spec"]["placement"]["clusterAffinity"]["clusterNames"] == ["member2"]

    await eventually(moved)
    await window.open(WORKLOAD)
    await window.shows(".node.t-cluster.n-ok >> text=member2")
    assert window.complaints == []


async def test_policies_and_events_appear_as_they_happen(federation: Dashboards, chromium: "Chrome") -> None:
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.open("/policies")
    await window.sees("There is no policy yet")
    await window.shows(".l-live")
    await window.page.evaluate("window.sameDocument = true")
    await federation.apply(policy("nginx", "member1"))
    await window.sees("default/nginx", ".policies")
    await window.page.locator("#nav").get_by_role("link", name="Events and drift").click()
    await window.sees("Events and drift", "h1")
    await window.shows(".l-live")
    await federation.apply(deployment())
    await window.sees("ScheduleBindingSucceed", ".events")
    assert await window.page.evaluate("window.sameDocument") is True
    assert window.complaints == []


async def test_what_was_typed_outlives_a_change_by_somebody_else(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"))
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.open("/policies")
    await window.page.get_by_role("link", name="default/nginx").click()
    editor = window.page.locator(".preview .cm-content")
    await editor.get_by_text("member1").click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.type("-of-mine")
    placement = {"clusterAffinity": {"clusterNames": ["member2"]}}
    await federation.hub.resource(POLICIES).patch("nginx", {"spec": {"placement": placement}}, "default")
    await window.sees("Somebody has changed it since you began to edit.")
    assert await editor.get_by_text("member1-of-mine").count() == 1
    await window.page.get_by_role("button", name="Undo all changes").click()
    await window.sees("member2", ".preview .cm-content")
    assert window.complaints == []


async def test_numbers_lead_to_what_they_count(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment(), deployment("forgotten"))
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.page.get_by_role("link", name="workloads unhealthy").click()
    await window.sees("forgotten", ".table.workloads")
    await window.counts(".table.workloads .tbody .tr", 1)
    await window.open("/clusters/member1")
    await window.shows("table.plain >> text=Ready")
    await window.page.locator(".facts a").click()
    await window.sees("nginx", ".table.workloads")
    await window.counts(".table.workloads .tbody .tr", 1)
    assert window.complaints == []


async def test_errors_of_the_server_stand_in_the_editor(federation: Dashboards, chromium: "Chrome") -> None:
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.open("/editor?new=policy")
    await window.shows(".preview .cm-content")
    await window.page.locator(".preview .cm-content").get_by_text("Divided").click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.type("X")
    await window.sees("replicaSchedulingType", ".marks")
    await window.shows(".cm-lint-marker-error")
    assert await window.page.get_by_role("button", name="Apply").is_disabled()
    await window.page.keyboard.press("Enter")
    await window.page.keyboard.press("Control+Space")
    await window.shows(".cm-tooltip-autocomplete >> text=weightPreference")
    assert window.complaints == []


async def test_the_log_of_a_pod_is_followed(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment(replicas=1))
    window = await chromium.window(federation.world.endpoint, await admin(federation))
    await window.open(WORKLOAD)
    await window.shows(".node.t-pod.n-ok")
    await window.page.locator(".node.t-pod").click()
    await window.page.get_by_role("link", name="Logs").click()
    await window.sees("Following")
    await window.filled(".log")
    assert window.complaints == []


async def test_a_user_without_rights_is_shown_which_one_is_missing(federation: Dashboards, chromium: "Chrome") -> None:
    await federation.apply(policy("nginx", "member1"), deployment())
    window = await chromium.window(federation.world.endpoint, await federation.token("nobody"))
    await window.sees("You may not do this")
    await window.sees("you may not list clusters.cluster.karmada.io")
    assert await window.page.get_by_text("member1").count() == 0
    await window.open(WORKLOAD)
    await window.sees("You may not do this")


async def test_pages_come_back_after_a_restart_of_the_control_plane(tmp_path: Path, chromium: "Chrome") -> None:
    storage = MemoryStorage()
    options = ControlPlaneOptions(
        storage=storage, folder=tmp_path, options=Options(QUICK), dashboard=True, sessions=tmp_path / "sessions"
    )
    async with AsyncExitStack() as first:
        plane = await first.enter_async_context(ControlPlane(options))
        world = World(plane, first)
        world.endpoint = await plane.listen()
        token = await Dashboards(world, first).token("keeper", role="cluster-admin")
        window = await chromium.window(world.endpoint, token)
        await window.open("/workloads")
        await window.shows(".l-live")
    await window.shows(".l-lost")
    async with AsyncExitStack() as second:
        plane = await second.enter_async_context(ControlPlane(options))
        await plane.listen(port=int(world.endpoint.rpartition(":")[2]))
        await window.shows(".l-live")
        assert window.page.url.endswith("/workloads")
        again = Dashboards(World(plane, second), second)
        await again.apply(deployment("later"))
        await window.sees("later")
        await window.page.get_by_role("button", name="Sign out").click()
        await window.shows("#token")


PAGES = [
    "/",
    "/clusters",
    "/clusters/member1",
    "/workloads",
    WORKLOAD,
    "/policies",
    "/policy?apiVersion=policy.karmada.io%2Fv1alpha1&kind=PropagationPolicy&namespace=default&name=nginx",
    "/what-if?down=member1",
    "/search?q=nginx",
    "/events",
    "/drift",
    "/editor",
]


async def settled(federation: Dashboards) -> None:
    await federation.apply(policy("nginx", "member1", "member2"), deployment())
    deployments = federation.members["member2"].inside.resource(DEPLOYMENTS)

    async def there() -> Any:
        return (await deployments.get("nginx", "default")).get("status", {}).get("readyReplicas") == 2

    await eventually(there)


@pytest.mark.parametrize("colours", ["light", "dark"])
async def test_pages_have_no_barriers(federation: Dashboards, chromium: "Chrome", colours: str) -> None:
    await settled(federation)
    window = await chromium.window(federation.world.endpoint, colours=colours)
    await window.open("/login")
    await window.shows("#token")
    assert await window.faults() == []
    await window.sign_in(await admin(federation))
    await window.shows("#nav")
    for path in PAGES:
        await window.open(path)
        await window.shows("main h1")
        await window.counts(".loading", 0)
        assert await window.faults() == [], path
    await window.open(WORKLOAD)
    await window.page.locator(".node.t-cluster").first.click()
    await window.shows(".drawer")
    assert await window.faults() == []
    await window.page.keyboard.press("Escape")
    await window.page.keyboard.press("?")
    await window.shows("dialog[open]")
    assert await window.faults() == []
    assert window.complaints == []


async def test_every_page_fits_a_phone(federation: Dashboards, chromium: "Chrome") -> None:
    from tests.dashboard.browser.chrome import PHONE

    await settled(federation)
    window = await chromium.window(federation.world.endpoint, await admin(federation), PHONE)
    for path in PAGES:
        await window.open(path)
        await window.shows("main h1")
        await window.counts(".loading", 0)
        assert await window.overflow() == 0, path
        assert await window.cut() == [], path
        assert await window.faults() == [], path
    assert not await window.page.locator("#nav").is_visible()
    await window.page.get_by_role("button", name="Menu").click()
    await window.page.locator("#nav").get_by_role("link", name="Clusters").click()
    await window.sees("member1")
    await window.open(WORKLOAD)
    await window.shows(".way .node")
    await window.page.locator(".way .node").first.click()
    await window.shows(".drawer")
    assert await window.overflow() == 0


async def test_keys_theme_and_language(federation: Dashboards, chromium: "Chrome") -> None:
    window = await chromium.window(federation.world.endpoint, await admin(federation), locale="zh-CN")
    await window.sees("概览", "h1")
    await window.goes("c", "clusters")
    await window.sees("集群", "h1")
    await window.searches("member2")
    await window.sees("1 / 2")
    await window.page.get_by_role("button", name="EN").click()
    await window.sees("Clusters", "h1")
    await window.page.locator("h1").click()
    await window.page.keyboard.press("t")
    await window.counts("html[data-theme=dark]", 1)
    await window.page.reload()
    await window.sees("Clusters", "h1")
    await window.counts("html[data-theme=dark]", 1)
