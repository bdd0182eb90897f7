"""Takes the pictures of docs/dashboard.md: a federation with things to see, every page, both colours.

make screenshots
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from tests.dashboard.browser.chrome import DESK, PHONE, WORKLOAD, Window, chrome
from tests.dashboard.world import Dashboards, deployment, policy
from tests.membership.world import QUICK, World, eventually

from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.join import join
from karmada.membership.registration import Description
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec, NodePool
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

COLOURS = 256
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


class Pictures:
    """Takes pictures, reduced to few colours: they stay small and sharp."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def take(self, window: Window, name: str, path: str = "", sign: str = "main h1") -> None:
        if path:
            await window.open(path)
        await window.shows(sign)
        await window.counts(".loading", 0)
        await window.page.evaluate("document.fonts.ready")
        await window.page.wait_for_timeout(700)
        image = Image.open(BytesIO(await window.page.screenshot(animations="disabled")))
        reduced = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        reduced.save(self.folder / f"dashboard-{name}.png", optimize=True)


async def main(folder: Path) -> None:
    """All pictures."""
    async with AsyncExitStack() as stack:
        browser = await chrome(stack)
        options = ControlPlaneOptions(options=Options(QUICK), dashboard=True)
        plane = await stack.enter_async_context(ControlPlane(options))
        world = World(plane, stack)
        world.endpoint = await plane.listen()
        federation = Dashboards(world, stack)
        await _furnish(federation)
        await _settled(federation)

        async def admin() -> str:
            code: str = (await federation.link())["code"]
            return code

        pictures = Pictures(folder)
        out = await browser.window(world.endpoint)
        await pictures.take(out, "sign-in", "/login", "#token")
        window = await browser.window(world.endpoint, await admin())
        await pictures.take(window, "clusters", "/clusters", ".badge")
        await pictures.take(window, "cluster", "/clusters/member1")
        await window.open(WORKLOAD)
        await window.page.locator(".node.t-cluster.n-off").first.click()
        await pictures.take(window, "verdict", sign=".drawer")
        await pictures.take(window, "policies", "/policies", ".policy")
        await pictures.take(window, "search", "/search?q=nginx", ".found")
        await _policy(window, pictures)
        await _pod(window, pictures)
        dark = await browser.window(world.endpoint, await admin(), DESK, "dark")
        await pictures.take(dark, "what-if", "/what-if?down=member1", ".move")
        phone = await browser.window(world.endpoint, await admin(), PHONE)
        await pictures.take(window, "workload", WORKLOAD, ".node.t-pod")
        await _moved(federation)
        await federation.members["member3"].change_faults(down=True)
        await window.open("/")
        await window.shows(".move-arc")
        await pictures.take(window, "overview", sign="a.member.s-bad")
        await pictures.take(window, "workloads", "/workloads", ".badge.b-bad")
        await pictures.take(window, "events", "/events", ".events li")
        await pictures.take(dark, "workload-dark", WORKLOAD, ".node.n-bad")
        await pictures.take(phone, "phone", WORKLOAD, ".way .n-bad")
        chinese = await browser.window(world.endpoint, await admin(), locale="zh-CN")
        await pictures.take(chinese, "chinese", "/", "a.member.s-bad")


async def _moved(federation: Dashboards) -> None:
    """Replicas on the move: other weights."""
    policies = federation.hub.resource(POLICIES)
    spec = _weighted("shop", {"member2": 1, "member4": 3})["spec"]
    await policies.patch("shop", {"spec": {"placement": spec["placement"]}}, "default")


async def _policy(window: Window, pictures: Pictures) -> None:
    """A change of a weight, with what it would move."""
    await window.open(POLICY)
    await window.shows(".preview .cm-content")
    editor = window.page.locator(".preview .cm-content")
    await editor.get_by_text("weight: 2").click()
    await window.page.keyboard.press("End")
    await window.page.keyboard.press("Backspace")
    await window.page.keyboard.type("6")
    await window.shows(".move")
    await pictures.take(window, "policy")


async def _pod(window: Window, pictures: Pictures) -> None:
    await window.open(WORKLOAD)
    await window.shows(".node.t-pod")
    await window.page.locator(".node.t-pod").first.click()
    await window.page.get_by_role("link", name="Logs").click()
    await window.filled(".log")
    await pictures.take(window, "logs")
    await window.page.locator(".tabs").get_by_role("link", name="Terminal").click()
    await window.sees("Connected")
    await window.page.locator(".terminal").click()
    await window.page.keyboard.type("hostname\n")
    await pictures.take(window, "terminal")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
