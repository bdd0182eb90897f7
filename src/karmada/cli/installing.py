"""Writes the objects of an installation and waits for what runs, or shows what would be done."""

import asyncio
from collections.abc import Sequence
from typing import Any

from karmada.api.annotations import SIMULATED_PROCESSES, SIMULATED_RUNTIME
from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.output.objects import reference
from karmada.cli.progress import PAUSE, Waiting
from karmada.cli.session import Session
from karmada.machinery.errors import ApiError, Forbidden, NotFound

JSONObject = dict[str, Any]
RUNNING = ("Deployment", "StatefulSet")


async def can_run(host: Access) -> bool:
    """Whether the host has nodes: without them nothing would ever run."""
    return bool((await host.resource("", "v1", "nodes").list()).items)


async def warn_of_simulation(session: Session, host: Access, namespace: str) -> None:
    """Say at once that containers of simulated nodes run nothing: what is installed there never answers."""
    try:
        nodes = (await host.resource("", "v1", "nodes").list()).items
    except Forbidden:
        return  # without the right to list nodes there is no warning; pods that do not start are reported later
    if nodes and not any(_runs(node, namespace) for node in nodes):
        session.warn(
            f"Warning: the nodes of this cluster are simulated: containers in {namespace} run nothing and never "
            "answer. Let its pods be processes (docs/simulated-members.md: processes), or use a real cluster."
        )


def _runs(node: JSONObject, namespace: str) -> bool:
    about = (node.get("status") or {}).get("nodeInfo") or {}
    if not str(about.get("containerRuntimeVersion", "")).startswith(SIMULATED_RUNTIME):
        return True
    listed = (node["metadata"].get("annotations") or {}).get(SIMULATED_PROCESSES, "")
    return namespace in listed.split(",")


def show_plan(session: Session, items: Sequence[JSONObject], why: str) -> None:
    """What would be done."""
    session.print(f"{why}: this is what would be done")
    for item in items:
        where = item["metadata"].get("namespace")
        session.print(f"  create {reference(item)}" + (f" in {where}" if where else ""))


async def apply(session: Session, host: Access, items: Sequence[JSONObject]) -> None:
    """Create the objects; those that are there get the new content."""
    for item in items:
        kind = await host.kinds.of(item["apiVersion"], item["kind"])
        resource = host.client.resource(kind.type)
        namespace = item["metadata"].get("namespace", "")
        try:
            await resource.get(item["metadata"]["name"], namespace)
        except NotFound:
            await resource.create(item, namespace)
            session.print(f"{reference(item)} created")
        else:
            # Not tried as a new one: a server says that a Service's node port is taken before it looks for its name.
            await resource.apply(item, field_manager="karmadactl", force=True)
            session.print(f"{reference(item)} configured")


async def until_running(
    session: Session,
    host: Access,
    items: Sequence[JSONObject],
    seconds: float,
    only: Sequence[JSONObject] | None = None,
) -> None:
    """Wait until everything that runs is ready, or `only` some of it; says which part is not when time is up."""
    waiting_for = [item for item in items if item["kind"] in RUNNING]
    try:
        async with asyncio.timeout(seconds or None):
            for index, item in enumerate(waiting_for, 1):
                if only is not None and item not in only:
                    continue
                with Waiting(session, f"[{index}/{len(waiting_for)}] waiting for {reference(item)}"):
                    while not await _is_ready(host, item):
                        await pause()
    except TimeoutError:
        name = item["metadata"]["name"]
        namespace = item["metadata"]["namespace"]
        raise CommandError(
            f"{name} is not ready after {seconds:g} s: see kubectl describe pod -n {namespace} -l app={name}"
        ) from None


async def pause() -> None:
    """Wait before looking again."""
    await asyncio.sleep(PAUSE)


async def _is_ready(host: Access, item: JSONObject) -> bool:
    kind = await host.kinds.of(item["apiVersion"], item["kind"])
    found = await host.client.resource(kind.type).get(item["metadata"]["name"], item["metadata"]["namespace"])
    status, wanted = found.get("status") or {}, found["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < found["metadata"].get("generation", 0):
        return False
    return bool(min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0)) >= wanted)


async def remove(session: Session, host: Access, items: Sequence[JSONObject], *, dry_run: bool) -> list[str]:
    """Delete the objects; what could not be deleted."""
    left: list[str] = []
    for item in items:
        kind = await host.kinds.of(item["apiVersion"], item["kind"])
        about = item["metadata"]
        session.print(f"delete {reference(item)}" + (f" in {about['namespace']}" if about.get("namespace") else ""))
        if dry_run:
            continue
        try:
            await host.client.resource(kind.type).delete(about["name"], about.get("namespace", ""))
        except NotFound:
            continue
        except ApiError as error:
            left.append(f"{reference(item)}: {error}")
    return left
