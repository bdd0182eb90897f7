"""`karmadactl describe`."""

import asyncio
from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.describe import events, related
from karmada.cli.describe.kinds import form_of
from karmada.cli.describe.page import Page
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import Wanted
from karmada.cli.reading import Look, in_time, namespace_of, objects, scoped
from karmada.cli.session import Session
from karmada.explain.events import events_of
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]


async def run(session: Session, flags: Values) -> None:
    """Describe every object that was named."""
    if not (flags.arguments or flags.filename or flags.kustomize):
        raise CommandError(
            f'You must specify the type of resource to describe. Use "{session.program} api-resources" for a complete '
            "list of supported resources."
        )
    access = await scoped(session, flags)
    texts = await in_time(access, _texts(access, flags))
    if not texts:
        place = "" if flags.all_namespaces else f" in {flags.namespace or access.target.namespace} namespace."
        session.warn(f"No resources found{place}")
    session.out.write("\n\n".join(texts))


async def _texts(access: Access, flags: Values) -> list[str]:
    found: list[JSONObject] = []
    for wanted, namespace in await _wanted(access, flags):
        found += await _objects(access, flags, wanted, namespace)
    return list(await asyncio.gather(*(text_of(access, item, flags.show_events) for item in found)))


async def _wanted(access: Access, flags: Values) -> list[tuple[Wanted, str]]:
    if not flags.filename and not flags.kustomize:
        named = await access.kinds.wanted(flags.arguments)
        return [(one, namespace_of(access, flags, one.kind)) for one in named]
    from karmada.cli.writing import from_files, refuse_beside_files

    refuse_beside_files(flags.arguments)
    return [(Wanted(one.kind, one.name), one.namespace) for one in await from_files(access, flags)]


async def _objects(access: Access, flags: Values, wanted: Wanted, namespace: str) -> list[JSONObject]:
    """The object of that name, or those whose names begin so."""
    look = Look(namespace, flags.selector, chunk=flags.chunk_size)
    try:
        return await objects(access, wanted, look)
    except NotFound:
        everything = await objects(access, Wanted(wanted.kind), look)
        begun = [item for item in everything if str(item["metadata"]["name"]).startswith(wanted.name)]
        if not begun:
            raise
        return begun


async def text_of(access: Access, item: JSONObject, show_events: bool = True) -> str:
    """One object in detail."""
    page = Page()
    form = form_of(item)
    shown = form.events and show_events
    about, found = await asyncio.gather(
        related.fetch(access, form.needs(item)), events_of(access.client, item) if shown else _no_events()
    )
    form.describe(page, item, about)
    if shown:
        events.describe(page, found)
    return page.text()


async def _no_events() -> list[JSONObject]:
    return []


COMMAND = Command(
    "describe",
    "(-f FILENAME | TYPE [NAME_PREFIX | -l label] | TYPE/NAME) (--operation-scope=SCOPE --cluster=CLUSTER)",
    "Show an object in detail, with its events.\n\nWith -s members -C NAME the object of that member is shown.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.ALL_NAMESPACES,
        *common.FILES,
        common.SELECTOR,
        common.operation_scope("karmada", "members"),
        common.cluster_flag("C"),
        Flag("chunk-size", 500, "How many objects to ask for at a time."),
        Flag("show-events", True, "Show the events about the object."),
    ),
    examples="""
karmadactl describe deployment nginx
karmadactl describe pod -l app=nginx -s members -C member1
""",
)
