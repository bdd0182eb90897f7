"""`karmadactl describe`."""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.describe import events, generic, workloads
from karmada.cli.describe.page import Page
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import Wanted
from karmada.cli.reading import Look, namespace_of, objects, scoped
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]


async def run(session: Session, flags: Values) -> None:
    """Describe every object that was named."""
    access = await scoped(session, flags)
    found: list[JSONObject] = []
    for wanted in await _wanted(access, flags):
        found += await _objects(access, flags, wanted)
    for index, item in enumerate(found):
        session.out.write(("\n\n" if index else "") + await text_of(access, item, flags.show_events))


async def _wanted(access: Access, flags: Values) -> list[Wanted]:
    if not flags.filename and not flags.kustomize:
        return await access.kinds.wanted(flags.arguments)
    from karmada.cli.files import read_objects

    items = read_objects(flags)
    return [Wanted(await access.kinds.of(item["apiVersion"], item["kind"]), item["metadata"]["name"]) for item in items]


async def _objects(access: Access, flags: Values, wanted: Wanted) -> list[JSONObject]:
    """The object of that name, or those whose names begin so."""
    look = Look(namespace_of(access, flags, wanted.kind), flags.selector, chunk=flags.chunk_size)
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
    if (item.get("apiVersion"), item.get("kind")) == ("apps/v1", "Deployment"):
        workloads.deployment(page, item)
    else:
        generic.describe(page, item)
    if show_events:
        events.describe(page, await events.events_of(access, item))
    return page.text()


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
