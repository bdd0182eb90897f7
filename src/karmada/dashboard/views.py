"""The lists: overview, clusters and workloads, from the board of whoever asks."""

import asyncio

from karmada.dashboard.answers import Refusal, bad_request
from karmada.dashboard.board import BINDINGS, CLUSTERS, WIDE_BINDINGS, Board
from karmada.dashboard.desks import STREAMS
from karmada.dashboard.names import checked_name
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject, ref_of
from karmada.dashboard.stream import stream_of
from karmada.explain.events import events_of, last_seen
from karmada.machinery.errors import NotFound
from karmada.machinery.httpserver.model import StreamResponse

LIMIT, MOST = 100, 1000


async def overview(visit: Visit) -> JSONObject:
    """Everything at a glance."""
    board = await _board(visit)
    await board.ready(CLUSTERS, BINDINGS)
    return board.overview()


async def clusters(visit: Visit) -> list[JSONObject]:
    """All clusters."""
    board = await _board(visit)
    await board.ready(CLUSTERS)
    return board.cluster_rows()


async def cluster(visit: Visit) -> JSONObject:
    """One cluster with what lists leave out."""
    name = checked_name(visit.arguments["name"], "a cluster")
    board = await _board(visit)
    await board.ready(CLUSTERS)
    found = await visit.desk.hub.resource(CLUSTERS).get(name)
    row = board.cluster(name)
    if row is None:
        raise NotFound(f"there is no cluster {name}")
    spec, status = found.get("spec") or {}, found.get("status") or {}
    counted = (status.get("resourceSummary") or {}).get("allocatableModelings") or ()
    counts = {one.get("grade"): one.get("count", 0) for one in counted}
    models = [{**model, "count": counts.get(model.get("grade"), 0)} for model in spec.get("resourceModels") or ()]
    events = await events_of(visit.desk.hub, {**found, "kind": "Cluster"})
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
    params, board = visit.params, await _board(visit)
    await board.ready(BINDINGS)
    if WIDE_BINDINGS not in board.refused and not visit.namespace:
        await board.ready(WIDE_BINDINGS)
    chosen = [row for row in board.workload_rows() if _fits(row, params)]
    start, limit = _number(params, "continue", 0), min(_number(params, "limit", LIMIT) or LIMIT, MOST)
    rest = start + limit
    return {
        "items": chosen[start:rest],
        "continue": str(rest) if rest < len(chosen) else None,
        "total": len(chosen),
    }


def event_row(event: JSONObject, cluster: str = "") -> JSONObject:
    """An event."""
    about = event.get("involvedObject") or {}
    row: JSONObject = {
        "time": last_seen(event) or (event.get("metadata") or {}).get("creationTimestamp", ""),
        "type": event.get("type", ""),
        "reason": event.get("reason", ""),
        "object": ref_of({**about, "metadata": about}),
        "message": event.get("message", ""),
        "count": (event.get("series") or {}).get("count") or event.get("count") or 1,
    }
    return {**row, "cluster": cluster} if cluster else row


async def _board(visit: Visit) -> Board:
    """The board of all namespaces, or of the one asked for where the user may not read all."""
    wide = await visit.desk.board()
    if BINDINGS in wide.refused and visit.namespace:
        return await visit.desk.board(visit.namespace)
    return wide


def _fits(row: JSONObject, params: dict[str, str]) -> bool:
    said = row["ref"]
    if params.get("namespace") and said["namespace"] != params["namespace"]:
        return False
    if params.get("kind") and said["kind"].lower() != params["kind"].lower():
        return False
    if params.get("status") and row["status"] != params["status"]:
        return False
    wanted = params.get("q", "").lower()
    return not wanted or wanted in f"{said['namespace']}/{said['name']} {said['kind']}".lower()


def _number(params: dict[str, str], name: str, default: int) -> int:
    text = params.get(name) or str(default)
    if not text.isdecimal() or len(text) > 9:
        raise bad_request(f"{name}: {text!r} is not a number")
    return int(text)


async def stream(visit: Visit) -> StreamResponse:
    """The changes of topics, as they happen."""
    topics = frozenset(filter(None, visit.params.get("topics", "").split(",")))
    known = ("overview", "clusters", "workloads")
    wrong = [topic for topic in topics if topic not in known and not topic.startswith("workload:")]
    if not topics or wrong or len(topics) > 20:
        raise bad_request(f"topics: name some of {', '.join(known)} and workload:<apiVersion/kind/namespace/name>")
    if visit.desk.streams >= STREAMS:
        raise Refusal(429, "TooManyRequests", f"more than {STREAMS} streams are open: close some tabs")
    board = await _board(visit)
    needed = [kind for kind in (CLUSTERS, BINDINGS) if kind not in board.refused]
    if topics & {"overview", "workloads"} and BINDINGS not in needed:
        await board.ready(BINDINGS)
    async with asyncio.timeout(30):
        await board.ready(*needed)
    return stream_of(visit, board, topics)
