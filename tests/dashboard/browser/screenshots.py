"""Takes the pictures of docs/dashboard.md: a federation with things to see, every page, both colours.

make screenshots: all of them; `python -m tests.dashboard.browser.screenshots FOLDER NAME...`: some.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Page
from tests.dashboard.browser.chrome import DESK, PHONE, WORKLOAD, Chrome, Window, chrome
from tests.dashboard.browser.pictures import draws, reduced
from tests.dashboard.world import Dashboards, deployment, policy
from tests.membership.world import QUICK, World, eventually

from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.join import join
from karmada.membership.registration import Description
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec, NodePool
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

PLACES = {
    "member1": ("alpha", "north", 4),
    "member2": ("alpha", "south", 3),
    "member3": ("beta", "north", 2),
    "member4": ("beta", "east", 2),
    "edge": ("edge", "west", 1),
}
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
POLICY = "/policy?apiVersion=policy.karmada.io%2Fv1alpha1&kind=PropagationPolicy&namespace=default&name=nginx"


def _weighted(name: str, weights: dict[str, int]) -> JSONObject:
    made = policy(name, *weights)
    made["spec"]["placement"]["replicaScheduling"] = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {
            "staticWeightList": [
                {"targetCluster": {"clusterNames": [cluster]}, "weight": weight} for cluster, weight in weights.items()
            ]
        },
    }
    return made


OVERRIDE: JSONObject = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "OverridePolicy",
    "metadata": {"name": "mirror", "namespace": "default"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}],
        "overrideRules": [
            {
                "targetCluster": {"clusterNames": ["member1"]},
                "overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "1.26"}]},
            }
        ],
    },
}
REGISTRY: JSONObject = {
    "apiVersion": "search.karmada.io/v1alpha1",
    "kind": "ResourceRegistry",
    "metadata": {"name": "all"},
    "spec": {
        "targetCluster": {},
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "Pod"}],
    },
}


async def _furnish(federation: Dashboards) -> None:
    """Members, workloads that are well, and one of each kind that is not."""
    for name, (provider, region, nodes) in PLACES.items():
        pools = (NodePool(count=nodes),)
        spec = MemberSpec(name, provider=provider, region=region, zones=(f"{region}-1",), node_pools=pools)
        member = await federation.stack.enter_async_context(Member(spec))
        port = await member.listen()
        described = Description(
            name, f"https://127.0.0.1:{port}", provider=provider, region=region, zones=(f"{region}-1",)
        )
        await join(member.inside, federation.hub, described)
        await federation.world.ready(name)
        federation.members[name] = member
    await federation.apply(REGISTRY, OVERRIDE)
    await federation.apply(_weighted("nginx", {"member1": 2, "member2": 1, "member3": 1}), deployment(replicas=8))
    for name, replicas in (("shop", 4), ("basket", 2), ("search", 6), ("mail", 3)):
        weights = {"member1": 1, "member2": 1} if replicas % 2 else {"member2": 1, "member4": 1}
        await federation.apply(_weighted(name, weights), _sized(deployment(name, replicas)))
    # A Deployment that somebody made in a member by hand: Karmada does not take it over.
    await federation.members["member2"].inside.resource(DEPLOYMENTS).create(deployment("legacy"))
    await federation.apply(policy("legacy", "member2"), deployment("legacy"))
    await federation.apply(policy("reports", "nowhere"), deployment("reports"), deployment("forgotten"))
    rival = policy("everything", "member4")
    rival["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    await federation.apply(rival)


def _sized(made: JSONObject) -> JSONObject:
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1500m", "memory": "3Gi"}}
    return made


async def _settled(federation: Dashboards) -> None:
    member = federation.members["member1"].inside.resource(DEPLOYMENTS)

    async def look() -> Any:
        return (await member.get("nginx", "default")).get("status", {}).get("readyReplicas") == 4

    await eventually(look)


class Shot(NamedTuple):
    """A picture: where it is taken, what has to be visible, and what is done before."""

    name: str
    path: str = ""
    sign: str = "main h1"
    prepare: Callable[[Window], Awaitable[None]] | None = None


async def _verdict(window: Window) -> None:
    boxes = window.page.locator(".node.t-cluster.n-off, .way .n-off")
    await boxes.first.click()


async def _joining(window: Window) -> None:
    await window.page.get_by_role("button", name="Join a cluster").click()
    await window.page.get_by_text("Pull", exact=True).click()
    await window.page.locator("#join-name").fill("member5")
    await window.page.get_by_role("button", name="Create a token").click()


async def _weight(window: Window) -> None:
    """A change of a weight, with what it would move."""
    await window.shows(".preview .cm-content")
    await window.page.locator(".preview .cm-content").click()
    line = window.page.locator(".preview .cm-line", has_text="weight: 2")
    # The editor draws only the lines near those that are in sight.
    while not await line.count():
        await window.page.keyboard.press("PageDown")
    await line.first.click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.press("Backspace")
    await window.page.keyboard.type("6")


async def _misspelt(window: Window) -> None:
    await window.shows(".preview .cm-content")
    # A name of its own: otherwise the server would rather speak of who manages the fields of the one that is there.
    await window.page.locator(".preview .cm-line", has_text="name: nginx").first.click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.type("-front")
    await window.page.locator(".preview .cm-line", has_text="Divided").click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.type("X")
    await window.sees("DividedX", ".marks")
    await window.page.keyboard.press("Enter")
    await window.page.keyboard.press("Control+Space")


async def _pod(window: Window) -> None:
    await window.page.locator(".node.t-pod, .way .node:has-text('Pod')").first.click()
    await window.page.get_by_role("link", name="Logs").click()
    await window.filled(".log")


async def _terminal(window: Window) -> None:
    await _pod(window)
    await window.page.locator(".tabs").get_by_role("link", name="Terminal").click()
    await window.sees("Connected")
    await window.page.locator(".terminal").click()
    await window.page.keyboard.type("hostname\n")


NODE = ".node.t-pod, .way .node"
WELL = [
    Shot("clusters", "/clusters", ".badge"),
    Shot("cluster", "/clusters/member1", ".conditions li"),
    Shot("join", "/clusters", ".wizard .command", _joining),
    Shot("workload", WORKLOAD, NODE),
    Shot("verdict", WORKLOAD, ".drawer", _verdict),
    Shot("policies", "/policies", ".policy"),
    Shot("policy", POLICY, ".preview .move", _weight),
    Shot("what-if", "/what-if?down=member1", ".move"),
    Shot("search", "/search?q=nginx", ".found"),
    Shot("editor", "/editor?new=policy", ".cm-tooltip-autocomplete", _misspelt),
    Shot("logs", WORKLOAD, ".log", _pod),
    Shot("terminal", WORKLOAD, ".terminal", _terminal),
]
BROKEN = [
    Shot("overview", "/", ".problems li"),
    Shot("workloads", "/workloads", ".badge.b-bad"),
    Shot("broken", WORKLOAD, ".node.n-bad"),
    Shot("events", "/events", ".events li"),
    Shot("drift", "/drift", ".events li"),
]


class Studio:
    """Windows of one federation, and the folder that gets their pictures."""

    def __init__(self, federation: Dashboards, browser: Chrome, folder: Path, blank: Page) -> None:
        self._federation = federation
        self._browser = browser
        self._folder = folder
        self._blank = blank

    async def window(self, size: tuple[int, int] = DESK, colours: str = "light", locale: str = "en-US") -> Window:
        """A window of the administrator."""
        code = (await self._federation.link())["code"]
        return await self._browser.window(self._federation.world.endpoint, code, size, colours, locale)

    async def take(self, window: Window, shot: Shot, suffix: str = "") -> None:
        """One picture."""
        if shot.path:
            await window.open(shot.path)
        await window.shows("main h1, #token")
        await window.counts(".loading", 0)
        if shot.prepare is not None:
            await shot.prepare(window)
        await window.shows(shot.sign)
        await window.counts(".loading", 0)
        await window.page.evaluate("document.fonts.ready")
        await window.page.wait_for_timeout(1000)
        await window.counts(".preview-side .buttons [role=status]", 0)
        picture = await reduced(self._blank, await window.page.screenshot(animations="disabled"))
        (self._folder / f"dashboard-{shot.name}{suffix}.png").write_bytes(picture)


async def main(folder: Path, names: frozenset[str] = frozenset()) -> None:
    """Pictures of every page, or of some, in both colours and on a phone."""
    async with AsyncExitStack() as stack:
        browser = await chrome(stack)
        blank = await browser.blank()
        if not await draws(blank, "中"):
            raise SystemExit("there is no font for Chinese, boxes would be drawn: apt-get install fonts-noto-cjk")
        options = ControlPlaneOptions(options=Options(QUICK), dashboard=True)
        plane = await stack.enter_async_context(ControlPlane(options))
        world = World(plane, stack)
        world.endpoint = await plane.listen()
        federation = Dashboards(world, stack)
        await _furnish(federation)
        await _settled(federation)
        studio = Studio(federation, browser, folder, blank)
        windows = {
            "": await studio.window(),
            "-dark": await studio.window(colours="dark"),
            "-phone": await studio.window(PHONE),
        }
        for suffix in windows:
            size, colours = PHONE if suffix == "-phone" else DESK, "dark" if suffix == "-dark" else "light"
            out = await browser.window(world.endpoint, "", size, colours)
            await studio.take(out, Shot("sign-in", "/login", "#token"), suffix)
        for shot in _chosen(WELL, names):
            for suffix, window in windows.items():
                await studio.take(window, shot, suffix)
        await _moved(federation)
        await federation.members["member3"].change_faults(down=True)
        await windows[""].open("/")
        await windows[""].shows("a.member.s-bad")
        for shot in _chosen(BROKEN, names):
            for suffix, window in windows.items():
                await studio.take(window, shot, suffix)
        await studio.take(await studio.window(locale="zh-CN"), Shot("chinese", "/", "a.member.s-bad"))


def _chosen(shots: list[Shot], names: frozenset[str]) -> list[Shot]:
    return [shot for shot in shots if not names or shot.name in names]


async def _moved(federation: Dashboards) -> None:
    """Replicas on the move: other weights."""
    policies = federation.hub.resource(POLICIES)
    spec = _weighted("shop", {"member2": 1, "member4": 3})["spec"]
    await policies.patch("shop", {"spec": {"placement": spec["placement"]}}, "default")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), frozenset(sys.argv[2:])))
