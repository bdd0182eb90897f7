"""What `karmadactl get` does: objects of the control plane and of members side by side."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from karmada.cli.access import Access
from karmada.cli.failures import CommandError, SeveralErrors
from karmada.cli.flags import Values
from karmada.cli.kinds import NOTHING_NAMED, Wanted
from karmada.cli.output import tabs
from karmada.cli.output.objects import renderer
from karmada.cli.output.tables import Listing, Style, sort_key
from karmada.cli.progress import Waiting
from karmada.cli.reading import Look, as_table, chosen_clusters, in_time, namespace_of, objects, table
from karmada.cli.session import Session
from karmada.machinery import small_json
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.transport import Request, Verb

JSONObject = dict[str, Any]
T = TypeVar("T")
_MADE_IN_MEMBERS = frozenset({"Pod", "ReplicaSet", "ControllerRevision", "EndpointSlice"})
"""Kinds that members' own controllers make of what was propagated: the control plane has none."""


async def run(session: Session, flags: Values) -> int | None:
    """Show what was asked for."""
    if flags.raw:
        answer = await session.hub(flags).transport.raw("GET", flags.raw)
        session.out.write(answer.decode())
        return 0
    if not flags.arguments:
        raise CommandError(f"cluster(Karmada): {NOTHING_NAMED}")
    if session.quick and (flags.watch or flags.watch_only):
        from karmada.machinery.http.blocking import NeedsLoop

        raise NeedsLoop
    render = renderer(flags)
    places = await _places(session, flags)
    if flags.watch or flags.watch_only:
        return await _watch(session, flags, places)
    if render is None:
        failures = await _tables(session, flags, places)
    else:
        found, failures = await _objects(session, flags, places)
        if found or (not failures and not flags.ignore_not_found):
            session.out.write(render(found, _is_list(flags, places, found)))
    if failures:
        raise SeveralErrors(failures)
    return 0


async def _places(session: Session, flags: Values) -> list[Access]:
    hub = session.hub(flags)
    places = [hub] if flags.operation_scope in ("karmada", "all") else []
    if flags.operation_scope in ("members", "all"):
        places += [session.member(flags, name) for name in await chosen_clusters(hub, flags.clusters)]
    return places


def _look(access: Access, flags: Values, wanted: Wanted) -> Look:
    namespace = namespace_of(access, flags, wanted.kind)
    return Look(namespace, flags.labels, flags.field_selector, flags.chunk_size, bool(flags.sort_by))


async def _tables(session: Session, flags: Values, places: Sequence[Access]) -> list[str]:
    listings: dict[str, Listing] = {}
    failures: list[str] = []

    async def look(access: Access) -> list[tuple[Wanted, JSONObject]]:
        wanted = await access.kinds.wanted(flags.arguments)
        if flags.all_namespaces and any(one.name for one in wanted):
            raise CommandError("a resource cannot be retrieved by name across all namespaces")
        answers = await _together(access, (table(access, one, _look(access, flags, one)) for one in wanted))
        return list(zip(wanted, answers, strict=True))

    results = await _answers(session, places, look)
    for access, result in zip(places, results, strict=True):
        if isinstance(result, BaseException):
            failures += _failure(access, result, flags)
            continue
        for wanted, answer in result:
            key = f"{wanted.kind.type.group}/{wanted.kind.type.version}, Kind={wanted.kind.kind}"
            listings.setdefault(key, Listing(wanted.kind)).add(access.name, answer)
    _print(session, flags, listings)
    if not failures and not any(listing.rows for listing in listings.values()) and not flags.ignore_not_found:
        namespace = flags.namespace or (places[0].target.namespace if places else "")
        everywhere = flags.all_namespaces or not any(one.kind.namespaced for one in listings.values())
        session.warn("No resources found" if everywhere else f"No resources found in {namespace} namespace.")
        away = [listing.kind for listing in listings.values() if listing.kind.kind in _MADE_IN_MEMBERS]
        if away and flags.operation_scope == "karmada":
            plural = away[0].type.resource
            session.warn(f"{plural} are in the members: karmadactl get {plural} -s members")
    return failures


async def _answers(
    session: Session, places: Sequence[Access], look: Callable[[Access], Awaitable[T]]
) -> list[T | BaseException]:
    """What every place answers; a terminal shows who is waited for."""
    if session.quick:
        return [await _caught(look(access)) for access in places]
    import asyncio

    waiting = {access.name: None for access in places}

    async def one(access: Access) -> T:
        try:
            return await in_time(access, look(access))
        finally:
            waiting.pop(access.name, None)
            shown.say(f"waiting for {', '.join(waiting)}")

    with Waiting(session, f"waiting for {', '.join(waiting)}", after=1.0) as shown:
        return await asyncio.gather(*(one(access) for access in places), return_exceptions=True)


async def _together(access: Access, questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers to several questions: asked at the same time, unless there is no loop."""
    if access.quick:
        return [await question for question in questions]
    import asyncio

    return await asyncio.gather(*questions)


async def _caught(question: Awaitable[T]) -> T | BaseException:
    try:
        return await question
    except Exception as error:
        return error


def _print(session: Session, flags: Values, listings: dict[str, Listing]) -> None:
    ordered = [listing for _, listing in sorted(listings.items()) if listing.rows]
    style = _style(flags, len(listings) > 1)
    for index, listing in enumerate(ordered):
        if flags.sort_by:
            listing.sort(flags.sort_by)
        style = style._replace(namespaces=flags.all_namespaces and listing.kind.namespaced)
        session.out.write(("\n" if index else "") + tabs.aligned(listing.text(style)))


def _style(flags: Values, several: bool) -> Style:
    return Style(
        wide=flags.output == "wide",
        headers=not flags.no_headers,
        kinds=flags.show_kind or several,
        labels=flags.show_labels,
        label_columns=flags.label_columns,
        event=flags.output_watch_events,
    )


async def _objects(session: Session, flags: Values, places: Sequence[Access]) -> tuple[list[JSONObject], list[str]]:
    found: list[JSONObject] = []
    failures: list[str] = []

    async def look(access: Access) -> list[JSONObject]:
        wanted = await access.kinds.wanted(flags.arguments)
        answers = await _together(access, (objects(access, one, _look(access, flags, one)) for one in wanted))
        return [item for answer in answers for item in answer]

    results = await _answers(session, places, look)
    for access, result in zip(places, results, strict=True):
        if isinstance(result, BaseException):
            failures += _failure(access, result, flags)
        elif len(places) > 1:
            found += [_marked(item, access.name) for item in result]
        else:
            found += result
    if flags.sort_by:
        found = _sorted(found, flags.sort_by)
    return found, failures


def _sorted(found: list[JSONObject], path: str) -> list[JSONObject]:
    from karmada.api.jsonpath import parse_relaxed

    wanted = parse_relaxed(path)
    return sorted(found, key=lambda item: sort_key(wanted.find(item)))


def _marked(item: JSONObject, cluster: str) -> JSONObject:
    """An object with the cluster it is from, for lists of several clusters."""
    from karmada.api.annotations import CACHED_FROM_CLUSTER

    metadata = item["metadata"]
    annotations = {**(metadata.get("annotations") or {}), CACHED_FROM_CLUSTER: cluster}
    return {**item, "metadata": {**metadata, "annotations": annotations}}


def _is_list(flags: Values, places: Sequence[Access], found: list[JSONObject]) -> bool:
    named = "/" in flags.arguments[0] or len(flags.arguments) > 1
    return not (named and len(found) == 1 and len(places) == 1)


def _failure(access: Access, error: BaseException, flags: Values) -> list[str]:
    if isinstance(error, NotFound) and flags.ignore_not_found:
        return []
    if not isinstance(error, ApiError | CommandError):
        raise error
    from karmada.cli.errors import plain

    return [f"cluster({access.name}): {plain(error)}"]


async def _watch(session: Session, flags: Values, places: Sequence[Access]) -> int:
    """Rows as they change, from all places; ends when every watch has ended, or on Ctrl-C."""
    shown = _Rows(session, flags)
    failures: list[str] = []

    async def follow(access: Access) -> None:
        """Others go on where one cluster fails, so that is said at once."""
        try:
            await rows(access)
        except (ApiError, CommandError) as error:
            for failure in _failure(access, error, flags):
                failures.append(failure)
                session.warn(f"error: {failure}")

    async def rows(access: Access) -> None:
        wanted = await in_time(access, access.kinds.wanted(flags.arguments))
        if len(wanted) != 1:
            raise CommandError("you may only specify a single resource type to watch")
        (one,) = wanted
        look = _look(access, flags, one)
        answer = await in_time(access, table(access, one, look))
        if not flags.watch_only:
            shown.add(one, access.name, answer, "ADDED")
        fields = f"metadata.name={one.name}" if one.name else look.fields
        since = str((answer.get("metadata") or {}).get("resourceVersion") or "")
        params = Look(look.namespace, look.labels, fields).params() | {"resourceVersion": since}
        from karmada.cli.output.tables import ACCEPT

        request = Request(Verb.WATCH, one.kind.type, look.namespace, params=params, accept=ACCEPT)
        async with access.transport.watch(request) as stream:
            async for batch in stream:
                for event in batch:
                    if event.type.value != "BOOKMARK":
                        shown.add(one, access.name, as_table(small_json.loads(event.object)), event.type.value)

    import asyncio

    await asyncio.gather(*(follow(access) for access in places))
    return 1 if failures else 0


class _Rows:
    """Rows of a watch: one header, then lines as wide as those before."""

    def __init__(self, session: Session, flags: Values) -> None:
        self._session = session
        self._style = _style(flags, False)
        self._all_namespaces = flags.all_namespaces
        self._widths: list[int] = []
        self._columns: list[JSONObject] = []

    def add(self, wanted: Wanted, cluster: str, answer: JSONObject, event: str) -> None:
        """Show the rows of a table; events of a watch carry their columns only once per cluster."""
        listing = Listing(wanted.kind, self._columns)
        definitions = answer.get("columnDefinitions") or self._columns
        listing.add(cluster, {**answer, "columnDefinitions": definitions})
        self._style = self._style._replace(
            namespaces=self._all_namespaces and wanted.kind.namespaced,
            headers=self._style.headers and not self._columns,
        )
        lines = listing.text(self._style)
        if self._style.event:
            first = 1 if self._style.headers else 0
            lines[first:] = [[event, *line[1:]] for line in lines[first:]]
        self._columns = listing.columns
        self._widths = tabs.column_widths(lines, self._widths)
        self._session.out.write(tabs.aligned(lines, self._widths))
        self._session.out.flush()
