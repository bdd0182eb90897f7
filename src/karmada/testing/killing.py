"""Kill either process of a real federation at random moments under load: nothing acknowledged is lost, all converges.

Not a simulation: two processes, SQLite, sockets, SIGKILL. The seed decides when and whom; what the machine does
meanwhile it does not.
"""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from random import Random

from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists, ApiError
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.federation import CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout
from karmada.testing.world import Broken

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
LOAD = Scope("default", labels="load=yes")
KILLS = 5
PATIENCE = 90.0
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "load", "namespace": "default"},
    "spec": {
        "resourceSelectors": [
            {"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": {"matchLabels": {"load": "yes"}}}
        ],
        "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
    },
}


def scenario(seed: int) -> list[str]:
    """Run one federation through its kills; what was done to it."""
    with tempfile.TemporaryDirectory(prefix="karmada-killing-") as folder:
        return asyncio.run(_live(Path(folder), Random(seed), seed))


async def _live(folder: Path, random: Random, seed: int) -> list[str]:
    layout = Layout(folder)
    layout.prepare()
    federation = Federation(FederationOptions(layout, members=2), lambda step: None)
    acknowledged: set[str] = set()
    trace: list[str] = []
    try:
        await federation.start()
        hub = federation.client(CONTEXT)
        await hub.resource(POLICIES).create(POLICY)
        writer = asyncio.create_task(_write(hub, acknowledged))
        for _ in range(KILLS):
            await asyncio.sleep(random.uniform(0.2, 1.0))
            trace.append(await _kill(federation, random))
        writer.cancel()
        await asyncio.gather(writer, return_exceptions=True)
        for context in (CONTEXT, "member1", "member2"):
            await _has_all(federation, context, acknowledged, seed, trace)
        await hub.close()
    finally:
        await federation.stop()
    trace.append(f"{len(acknowledged)} acknowledged objects everywhere")
    return trace


async def _kill(federation: Federation, random: Random) -> str:
    """Kill one of the processes and wait until it is back."""
    victim = random.choice(federation.children)
    if victim.pid is not None:
        os.kill(victim.pid, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE):
        await victim.restarted()
    return f"killed the {victim.name}"


async def _write(hub: Client, acknowledged: set[str]) -> None:
    """Create objects one after another; an answer that was lost is asked for again."""
    number = 0
    while True:
        name = f"load-{number}"
        tree = {"metadata": {"name": name, "namespace": "default", "labels": {"load": "yes"}}, "data": {"n": name}}
        try:
            await hub.resource(CONFIG_MAPS).create(tree)
        except AlreadyExists:
            pass
        except ApiError:
            await asyncio.sleep(0.05)
            continue
        acknowledged.add(name)
        number += 1
        await asyncio.sleep(0.01)


async def _has_all(federation: Federation, context: str, wanted: set[str], seed: int, trace: list[str]) -> None:
    client = federation.client(context)
    missing = wanted
    try:
        async with asyncio.timeout(PATIENCE):
            while missing:
                try:
                    found = (await client.resource(CONFIG_MAPS).list(LOAD)).items
                    missing = wanted - {item["metadata"]["name"] for item in found}
                except ApiError:
                    pass
                await asyncio.sleep(0.1 if missing else 0)
    except TimeoutError:
        what = f"{len(missing)} of {len(wanted)} acknowledged objects are not in {context}: {sorted(missing)[:5]}"
        raise Broken(f"seed {seed}: {what}\n  " + "\n  ".join(trace)) from None
    finally:
        await client.close()
