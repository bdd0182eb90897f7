"""Events of the control plane and members, and copies that are not as they should be."""

import asyncio
from typing import Any

from karmada.api.names import EXECUTION_SPACE_PREFIX
from karmada.dashboard.kinds import EVENTS, WORKS
from karmada.dashboard.names import checked_name
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject, event_row, ref_of
from karmada.explain.errors import NoAnswer
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.resource import Scope

MOST = 500
COMPARED = 300
"""Copies that are compared with what was sent, of all clusters together."""
AT_ONCE = 8
_DRIFTS = ("metadata.labels", "spec", "data", "rules", "subjects", "roleRef", "webhooks")
"""Parts of an object that Karmada puts back."""


async def events(visit: Visit) -> list[JSONObject]:
    """Events of the control plane, or of a member, the newest first."""
    cluster = visit.params.get("cluster", "")
    context = visit.context
    client = context.member(checked_name(cluster, "a cluster")) if cluster else context.hub
    page = client.resource(EVENTS).page(Scope(visit.namespace), limit=2000)
    found = (await (context.members.in_time(page) if cluster else page)).items
    return sorted((event_row(one, cluster) for one in found), key=lambda one: str(one["time"]), reverse=True)[:MOST]


async def drift(visit: Visit) -> list[JSONObject]:
    """Works that could not be applied, and copies in members that differ from them."""
    async with visit.context.long:
        return await _drift(visit)


async def _drift(visit: Visit) -> list[JSONObject]:
    works = (await visit.context.hub.resource(WORKS).list()).items
    found: list[JSONObject] = []
    compared: list[tuple[str, JSONObject]] = []
    for work in works:
        cluster = work["metadata"].get("namespace", "").removeprefix(EXECUTION_SPACE_PREFIX)
        manifests = _manifests(work)
        applied = _condition(work, "Applied")
        if applied.get("status") == "False":
            message = applied.get("message") or "it could not be applied"
            found += [{"ref": ref_of(one), "cluster": cluster, "sentence": message} for one in manifests]
        elif applied.get("status") == "True" and not (work.get("spec") or {}).get("suspendDispatching"):
            compared += [(cluster, one) for one in manifests]
    slots = asyncio.Semaphore(AT_ONCE)
    dead: set[str] = set()
    answers = await asyncio.gather(*(_differs(visit, slots, dead, *one) for one in compared[:COMPARED]))
    found += [one for one in answers if one is not None]
    if len(compared) > COMPARED:
        left = len(compared) - COMPARED
        nothing = ref_of({"metadata": {}})
        found.append({"ref": nothing, "cluster": "", "sentence": f"{left} further copies were not compared"})
    return found


async def _differs(
    visit: Visit, slots: asyncio.Semaphore, dead: set[str], cluster: str, manifest: JSONObject
) -> JSONObject | None:
    about = ref_of(manifest)
    async with slots:
        if cluster in dead:
            return None
        try:
            copy = await visit.context.members.in_time(_copy(visit, cluster, about))
        except NotFound:
            return {"ref": about, "cluster": cluster, "sentence": "it is not there, although its Work was applied"}
        except (ApiError, NoAnswer) as error:
            dead.add(cluster)
            return {"ref": about, "cluster": cluster, "sentence": f"the cluster cannot be asked: {error}"}
    fields = [
        path
        for part in _DRIFTS
        if (wanted := _part(manifest, part)) is not None
        for path in different(wanted, _part(copy, part), part)
    ]
    if not fields:
        return None
    # Names of fields only: values may be secret.
    return {"ref": about, "cluster": cluster, "sentence": f"differs from what was sent: {', '.join(fields[:5])}"}


async def _copy(visit: Visit, cluster: str, about: JSONObject) -> JSONObject:
    client = visit.context.member(cluster)
    kind = await client.mapper.of_kind(about["apiVersion"], about["kind"])
    return await client.resource(kind.type).get(about["name"], about["namespace"] if kind.namespaced else "")


def different(wanted: Any, there: Any, path: str) -> list[str]:
    """The fields that were sent and are otherwise now; what the member added is its own."""
    if isinstance(wanted, dict):
        if not isinstance(there, dict):
            return [path] if wanted else []
        return [
            found
            for key, part in wanted.items()
            if part is not None
            for found in different(part, there.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list):
        if not isinstance(there, list) or len(wanted) > len(there):
            return [path] if wanted else []
        return [
            found for number, part in enumerate(wanted) for found in different(part, there[number], f"{path}[{number}]")
        ]
    if wanted in (0, "", False) and there is None:
        return []
    return [] if wanted == there else [path]


def _part(tree: JSONObject, path: str) -> Any:
    found: Any = tree
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _manifests(work: JSONObject) -> list[JSONObject]:
    found = ((work.get("spec") or {}).get("workload") or {}).get("manifests") or ()
    return [one for one in found if isinstance(one, dict) and isinstance(one.get("metadata"), dict)]


def _condition(work: JSONObject, name: str) -> JSONObject:
    conditions = (work.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == name), {})
