"""The lists: overview, clusters and workloads, from the board of whoever asks."""

import asyncio

from karmada.dashboard.answers import Refusal, bad_request
from karmada.dashboard.credential_cache import STREAMS
from karmada.dashboard.kinds import BINDINGS, CLUSTERS, ON_DEMAND, POLICIES, WIDE_BINDINGS
from karmada.dashboard.names import checked_name
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject, event_row
from karmada.dashboard.stream import stream_of
from karmada.dashboard.view import View
from karmada.explain.events import events_of
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.httpserver.model import StreamResponse

LIMIT, MOST = 100, 1000
TOPICS = {
    "overview": (BINDINGS,),
    "clusters": (),
    "workloads": (BINDINGS,),
    "policies": (POLICIES,),
    **{topic: (kind,) for topic, kind in ON_DEMAND.items()},
}
"""What one must be allowed to follow for each topic."""


async def overview(visit: Visit) -> JSONObject:
    """Everything at a glance."""
    view = await view_of(visit)
    await view.ready(CLUSTERS, BINDINGS)
    return view.board.overview()


async def clusters(visit: Visit) -> list[JSONObject]:
    """All clusters."""
    view = await view_of(visit)
    await view.ready(CLUSTERS)
    return view.board.cluster_rows()


async def cluster(visit: Visit) -> JSONObject:
    """One cluster with what lists leave out."""
    name = checked_name(visit.arguments["name"], "a cluster")
    view = await view_of(visit)
    await view.ready(CLUSTERS)
    found = await visit.context.hub.resource(CLUSTERS).get(name)
    row = view.board.cluster(name)
    if row is None:
        raise NotFound(f"there is no cluster {name}")
    spec, status = found.get("spec") or {}, found.get("status") or {}
    counted = (status.get("resourceSummary") or {}).get("allocatableModelings") or ()
    counts = {one.get("grade"): one.get("count", 0) for one in counted}
    models = [{**model, "count": counts.get(model.get("grade"), 0)} for model in spec.get("resourceModels") or ()]
    events = await events_of(visit.context.hub, {**found, "kind": "Cluster"})
    return {
        **row,
        "conditions": status.get("conditions") or [],
        "labels": found["metadata"].get("labels") or {},
        "models": models,
        "events": [event_row(one) for one in reversed(events)],
        "apis": sum(len(one.get("resources") or ()) for one in status.get("apiEnablements") or ()),
    }


async def workloads(visit: Visit) -> JSONObject:
    """The workloads that a query chooses, a page of them."""
    params, view = visit.params, await view_of(visit)
    await view.ready(BINDINGS)
    if WIDE_BINDINGS not in view.refused and not visit.namespace:
        await view.ready(WIDE_BINDINGS)
    chosen = [row for row in view.board.workload_rows() if _fits(row, params)]
    start, limit = _number(params, "continue", 0), min(_number(params, "limit", LIMIT) or LIMIT, MOST)
    rest = start + limit
    return {
        "items": chosen[start:rest],
        "continue": str(rest) if rest < len(chosen) else None,
        "total": len(chosen),
    }


async def view_of(visit: Visit) -> View:
    """What is seen of all namespaces, or of the one asked for where the user may not read all."""
    wide = await visit.context.view()
    if BINDINGS in wide.refused and visit.namespace:
        return await visit.context.view(visit.namespace)
    return wide


def _fits(row: JSONObject, params: dict[str, str]) -> bool:
    reference = row["ref"]
    if params.get("namespace") and reference["namespace"] != params["namespace"]:
        return False
    if params.get("kind") and reference["kind"].lower() != params["kind"].lower():
        return False
    if params.get("status") and row["status"] not in params["status"].split(","):
        return False
    if params.get("cluster") and all(one["name"] != params["cluster"] for one in row["clusters"]):
        return False
    wanted = params.get("q", "").lower()
    return not wanted or wanted in f"{reference['namespace']}/{reference['name']} {reference['kind']}".lower()


def _number(params: dict[str, str], name: str, default: int) -> int:
    text = params.get(name) or str(default)
    if not text.isdecimal() or len(text) > 9:
        raise bad_request(f"{name}: {text!r} is not a number")
    return int(text)


async def stream(visit: Visit) -> StreamResponse:
    """The changes of topics, as they happen."""
    topics = frozenset(filter(None, visit.params.get("topics", "").split(",")))
    wrong = [topic for topic in topics if topic not in TOPICS and not topic.startswith("workload:")]
    if not topics or wrong or len(topics) > 20:
        raise bad_request(f"topics: name some of {', '.join(TOPICS)} and workload:<apiVersion/kind/namespace/name>")
    if visit.context.streams >= STREAMS:
        raise Refusal(429, "TooManyRequests", f"more than {STREAMS} streams are open: close some tabs")
    view = await view_of(visit)
    demanded = {kind for topic in topics for kind in TOPICS.get(topic, ())}
    for kind in demanded & view.refused.keys():
        raise Forbidden(view.refused[kind])
    async with asyncio.timeout(30):
        await view.ready(*(kind for kind in (CLUSTERS, BINDINGS) if kind not in view.refused))
    return stream_of(visit, view, topics)
