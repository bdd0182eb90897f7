"""`karmadactl rebalance`: a WorkloadRebalancer for some workloads, and what came of it."""

import asyncio

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.progress import PAUSE, Waiting
from karmada.cli.reading import namespace_of
from karmada.cli.session import Session
from karmada.machinery.transport import GroupVersionResource, JSONObject

REBALANCERS = GroupVersionResource("apps.karmada.io", "v1alpha1", "workloadrebalancers")
KEPT = 600
"""Seconds for which the finished object stays."""


async def run(session: Session, flags: Values) -> int:
    """Ask for workloads to be placed anew and wait until they were; 1 where one has no binding."""
    hub = session.hub(flags)
    workloads = await _workloads(hub, flags)
    if not workloads:
        raise CommandError("name workloads: karmadactl rebalance deployment/web")
    if flags.dry_run:
        for one in workloads:
            session.print(f"{one['kind']} {one['name']} would be placed anew (dry run)")
        return 0
    rebalancers = hub.client.resource(REBALANCERS)
    made = await rebalancers.create(
        {
            "apiVersion": "apps.karmada.io/v1alpha1",
            "kind": "WorkloadRebalancer",
            "metadata": {"generateName": "karmadactl-"},
            "spec": {"workloads": workloads, "ttlSecondsAfterFinished": KEPT},
        }
    )
    name = made["metadata"]["name"]
    try:
        async with asyncio.timeout(flags.timeout or None):
            with Waiting(session, f"waiting for workloadrebalancer {name}"):
                while not (made.get("status") or {}).get("finishTime"):
                    await asyncio.sleep(PAUSE)
                    made = await rebalancers.get(name)
    except TimeoutError:
        raise CommandError(f"timed out waiting for workloadrebalancer/{name}: it goes on by itself") from None
    results = made["status"]["observedWorkloads"]
    rows = [["WORKLOAD", "RESULT", "REASON"]]
    rows += [[_spelled(one["workload"]), one.get("result", ""), one.get("reason", "")] for one in results]
    session.out.write(aligned(rows))
    return 0 if all(one.get("result") == "Successful" for one in results) else 1


async def _workloads(hub: Access, flags: Values) -> list[JSONObject]:
    found = []
    for wanted in await hub.kinds.wanted(flags.arguments) if flags.arguments else ():
        if not wanted.name:
            raise CommandError(f"name the {wanted.kind.type.resource} to place anew: {wanted.kind.kind.lower()}/NAME")
        one = {"apiVersion": wanted.kind.api_version, "kind": wanted.kind.kind, "name": wanted.name}
        if namespace := namespace_of(hub, flags, wanted.kind):
            one["namespace"] = namespace
        found.append(one)
    return found


def _spelled(workload: JSONObject) -> str:
    space = f"{workload['namespace']}/" if workload.get("namespace") else ""
    return f"{workload['kind']} {space}{workload['name']}"


COMMAND = Command(
    "rebalance",
    "KIND/NAME...",
    "Place workloads anew, as if they had just been created.\n\n"
    "Makes a WorkloadRebalancer, which the scheduler obeys once, and waits until it is done. The object is deleted\n"
    "after ten minutes.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        Flag("dry-run", False, "Do everything but write."),
        common.waiting("timeout", 60, "How long to wait for it; 0 waits for ever."),
    ),
    examples="""
karmadactl rebalance deployment/web
karmadactl rebalance deployment web shop -n store
""",
)
