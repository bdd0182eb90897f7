"""`karmadactl top --history`: what pods, nodes and clusters used lately, which the metrics adapter remembers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from karmada.api import annotations
from karmada.api.quantity import Quantity
from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.output.sparklines import Points, added, sparkline
from karmada.cli.output.tabs import GAP, aligned, column_widths
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound, Unavailable
from karmada.machinery.transport import GroupVersionResource, Request, Verb

JSONObject = dict[str, Any]
COLUMNS = 80
"""What a table fits where nobody says how wide the terminal is."""
LEAST, MOST = 8, 30
"""Bars of one sparkline."""
MEBI = 1 << 20
_ABSENT = (
    "the metrics adapter remembers what was used, and it is not there: karmada up --addons metrics-adapter, or "
    "karmadactl addons enable karmada-metrics-adapter"
)


class Lately(NamedTuple):
    """An object, what it uses now, and what it used."""

    names: list[str]
    cpu: int
    memory: int
    """MiB."""
    cpu_points: Points
    memory_points: Points


async def read(hub: Access, type_: GroupVersionResource, namespace: str, flags: Values) -> list[JSONObject]:
    """What all members measured, with its history."""
    params = {"history": "true", **({"labelSelector": flags.selector} if flags.selector else {})}
    requests = [Request(Verb.GET, type_, namespace, name, params=params) for name in flags.arguments]
    try:
        if requests:
            found = [orjson.loads(await hub.transport.send(request)) for request in requests]
        else:
            answer = orjson.loads(await hub.transport.send(Request(Verb.LIST, type_, namespace, params=params)))
            found = list(answer.get("items") or ())
    except NotFound as error:
        if flags.arguments and "could not find the requested resource" not in str(error):
            raise
        raise CommandError(_ABSENT) from None
    except Unavailable as error:
        raise CommandError(f"{_ABSENT} ({error})") from None
    chosen = set(flags.clusters)
    return [item for item in found if not chosen or cluster_of(item) in chosen]


def cluster_of(item: JSONObject) -> str:
    """Where something was measured."""
    return str((item["metadata"].get("annotations") or {}).get(annotations.QUERY_FROM_CLUSTER, ""))


def lately(item: JSONObject, names: list[str]) -> Lately:
    """One object of an answer."""
    parts = [part.get("usage") or {} for part in item.get("containers") or (item,)]
    cpu = sum(Quantity.parse(part.get("cpu", "0")).milli_value() for part in parts)
    memory = sum(Quantity.parse(part.get("memory", "0")).value() for part in parts) // MEBI
    history = item.get("history") or {}
    return Lately(names, cpu, memory, history.get("cpuMilli") or (), history.get("memoryMebi") or ())


def by_cluster(items: Sequence[JSONObject]) -> list[Lately]:
    """The nodes of each cluster together."""
    groups: dict[str, list[Lately]] = {}
    for item in items:
        groups.setdefault(cluster_of(item), []).append(lately(item, []))
    return [
        Lately(
            [cluster],
            sum(one.cpu for one in found),
            sum(one.memory for one in found),
            added([one.cpu_points for one in found]),
            added([one.memory_points for one in found]),
        )
        for cluster, found in groups.items()
    ]


def show(session: Session, flags: Values, headings: list[str], rows: list[Lately]) -> None:
    """Print a table that fits the terminal; names that are too long for that are cut in the middle."""
    if not rows:
        raise CommandError("No resources found")
    if flags.sort_by:
        rows = sorted(rows, key=lambda row: row.cpu if flags.sort_by == "cpu" else row.memory, reverse=True)
    columns = session.columns or COLUMNS
    titles = [*headings, "CPU", "", "MEMORY", ""]
    lines = [[*row.names, f"{row.cpu}m", "", f"{row.memory}Mi", ""] for row in rows]
    bare = [titles, *lines]
    spare = columns - sum(column_widths(bare)[:-1]) - GAP
    longest = max(range(len(headings)), key=lambda index: column_widths(bare)[index])
    if spare < 2 * LEAST:
        room = column_widths(bare)[longest] - GAP - (2 * LEAST - spare)
        for line in lines:
            line[longest] = _cut(line[longest], max(LEAST, room))
        spare = 2 * LEAST
    width = max(LEAST, min(MOST, spare // 2))
    for row, line in zip(rows, lines, strict=True):
        line[-3], line[-1] = sparkline(row.cpu_points, width), sparkline(row.memory_points, width)
    shown = lines if flags.no_headers else [titles, *lines]
    session.out.write("".join(f"{line.rstrip()}\n" for line in aligned(shown).splitlines()))


def _cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"
