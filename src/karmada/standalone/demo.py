"""`karmada demo`: a federation, an nginx in it, and a short look around.

On a terminal the federation stays up until Ctrl-C; elsewhere the tour ends it. Nothing is left behind: the demo keeps
its state in a temporary directory unless a flag says otherwise.
"""

import argparse
import asyncio
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.objects import CLUSTERS
from karmada.standalone.federation import CONTEXT, Federation
from karmada.standalone.layout import Layout
from karmada.standalone.up import run

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
PATIENCE = 60.0
INDENT = 2
ATTENTIVE = ("--cluster-status-update-frequency=1s", "--cluster-failure-threshold=1s", "--cluster-success-threshold=1s")
"""Nobody wants to watch half a minute go by until a member counts as gone."""
_BOLD, _PLAIN = "\033[1m", "\033[0m"

NGINX: JSONObject = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "nginx", "namespace": "default", "labels": {"app": "nginx"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "nginx"}},
        "template": {
            "metadata": {"labels": {"app": "nginx"}},
            "spec": {
                "containers": [
                    {
                        "name": "nginx",
                        "image": "nginx:1.25",
                        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                    }
                ]
            },
        },
    },
}


def policy(weights: dict[str, int]) -> JSONObject:
    """Divide nginx among the members by weight."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "nginx-propagation", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}],
            "placement": {
                "clusterAffinity": {"clusterNames": list(weights)},
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {
                        "staticWeightList": [
                            {"targetCluster": {"clusterNames": [name]}, "weight": weight}
                            for name, weight in weights.items()
                        ]
                    },
                },
            },
        },
    }


def demo(flags: argparse.Namespace) -> int:
    """Run the demo; the exit status."""
    flags.rest = [*ATTENTIVE, *flags.rest]
    if flags.data is not None:
        return run(flags, _tour)
    flags.data = Path(tempfile.mkdtemp(prefix="karmada-demo-"))
    try:
        return run(flags, _tour)
    finally:
        shutil.rmtree(flags.data, ignore_errors=True)


async def _tour(federation: Federation) -> None:
    hub = federation.client(CONTEXT)
    try:
        await _walk(federation, hub)
    finally:
        await hub.close()
    if sys.stdout.isatty():
        _say("Look around yourself", f"  export KUBECONFIG={federation.options.layout.kubeconfig}")
        print("  kubectl get deployments,rb,work -A\n  kubectl --context member1 get pods\n\nCtrl-C ends it.")
        await asyncio.Event().wait()


async def _walk(federation: Federation, hub: Client) -> None:
    members = await _members(hub)
    _say(f"{len(members)} member clusters joined", "\n".join(f"  {name}" for name in members))
    weights = dict.fromkeys(members, 1)
    await hub.resource(POLICIES).create(policy(weights))
    await hub.resource(DEPLOYMENTS).create(NGINX)
    _say("A Deployment and a PropagationPolicy were created", "  kubectl apply -f nginx.yaml -f policy.yaml")
    await _until(lambda: _ready(hub, 3), "nginx to be ready")
    _say("nginx runs in", await _table(hub))
    await hub.resource(DEPLOYMENTS).patch("nginx", {"spec": {"replicas": 9}}, "default")
    await _until(lambda: _ready(hub, 9), "nine replicas to be ready")
    _say("Scaled to nine", await _table(hub))
    first = members[0]
    weights[first] = 4
    wanted = policy(weights)["spec"]
    await hub.resource(POLICIES).patch("nginx-propagation", {"spec": wanted}, "default")
    await _until(lambda: _favoured(hub, first), f"{first} to get the greater share")
    await _until(lambda: _ready(hub, 9), "nine replicas to be ready")
    _say(f"The policy now prefers {first}", await _table(hub))
    await _break_and_mend(federation, hub, members[-1])


async def _break_and_mend(federation: Federation, hub: Client, member: str) -> None:
    """Take a member's API server away, ask why, give it back."""
    layout = federation.options.layout
    await asyncio.to_thread(_set_down, layout, member, True)
    await _until(lambda: _is_ready(hub, member, False), f"{member} to be missed")
    _say(f"The API server of {member} went down", f"  karmada sim fault {member} --down")
    _say("Why is nginx not well?", _indented(await why(layout.kubeconfig, ["deployment/nginx"], sys.stdout.isatty())))
    await asyncio.to_thread(_set_down, layout, member, False)
    await _until(lambda: _is_ready(hub, member, True), f"{member} to be back")
    await _until(lambda: _ready(hub, 9), "nine replicas to be ready")
    _say(f"{member} is back", await _table(hub))


def _set_down(layout: Layout, member: str, down: bool) -> None:
    from karmada.simulator.command import ControlClient

    ControlClient(layout.members).request("PATCH", f"/v1/members/{member}/faults", {"down": down})


async def _is_ready(hub: Client, member: str, wanted: bool) -> bool:
    cluster = await hub.resource(CLUSTERS).get(member)
    conditions = cluster["status"]["conditions"]
    return wanted is any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def why(kubeconfig: Path, words: Sequence[str], terminal: bool) -> str:
    """What `karmadactl why` says in the end; what it shows while it waits is not part of it."""
    from karmada.cli.main import execute
    from karmada.cli.session import Session

    output, errors = _Screen() if terminal else io.StringIO(), io.StringIO()
    columns = shutil.get_terminal_size().columns - INDENT
    environment = {"KUBECONFIG": str(kubeconfig), "COLUMNS": str(columns), "NO_COLOR": os.environ.get("NO_COLOR", "")}
    session = Session(out=output, err=errors, environment=environment)
    await execute(["why", *words], session)
    return output.getvalue() + errors.getvalue()


class _Screen(io.StringIO):
    """Text that goes to a terminal in the end."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def _colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _indented(text: str) -> str:
    return "\n".join(f"{'':<{INDENT}}{line}".rstrip() for line in text.rstrip().splitlines())


async def _members(hub: Client) -> list[str]:
    return sorted(cluster["metadata"]["name"] for cluster in (await hub.resource(CLUSTERS).list()).items)


async def _ready(hub: Client, replicas: int) -> bool:
    """Whether every cluster runs its share, and all of them together the whole."""
    template = await hub.resource(DEPLOYMENTS).get("nginx", "default")
    binding = await hub.resource(BINDINGS).get("nginx-deployment", "default")
    shares = {share["name"]: share["replicas"] for share in binding["spec"].get("clusters") or ()}
    running = {
        item["clusterName"]: (item.get("status") or {}).get("readyReplicas", 0)
        for item in binding["status"].get("aggregatedStatus") or ()
    }
    total = (template.get("status") or {}).get("readyReplicas")
    return sum(shares.values()) == total == replicas and shares == running


async def _favoured(hub: Client, name: str) -> bool:
    shares = await _shares(hub)
    return (
        bool(shares)
        and max(shares, key=lambda share: share["replicas"])["name"] == name
        and len({share["replicas"] for share in shares}) > 1
    )


async def _shares(hub: Client) -> list[dict[str, Any]]:
    binding = await hub.resource(BINDINGS).get("nginx-deployment", "default")
    return list(binding["spec"].get("clusters") or ())


async def _table(hub: Client) -> str:
    binding = await hub.resource(BINDINGS).get("nginx-deployment", "default")
    status = {item["clusterName"]: item for item in binding["status"].get("aggregatedStatus") or ()}
    rows = [f"  {'CLUSTER':<12} {'REPLICAS':>8} {'READY':>6}  HEALTH"]
    for share in sorted(binding["spec"].get("clusters") or (), key=lambda share: share["name"]):
        found = status.get(share["name"]) or {}
        ready = (found.get("status") or {}).get("readyReplicas", 0)
        rows.append(f"  {share['name']:<12} {share.get('replicas', 0):>8} {ready:>6}  {found.get('health', '')}")
    return "\n".join(rows)


async def _until(check: Callable[[], Awaitable[bool]], what: str) -> None:
    """Ask again until it is so; the demo gives up with a clear word."""
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    if await check():
                        return
                except (NotFound, KeyError):
                    pass
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise ApiError(f"the demo waited {PATIENCE:.0f} s in vain for {what}") from error


def _say(title: str, body: str) -> None:
    if _colours():
        print(f"\n{_BOLD}{title}{_PLAIN}\n{body}")
    else:
        print(f"\n{title}\n{body}")
    sys.stdout.flush()
