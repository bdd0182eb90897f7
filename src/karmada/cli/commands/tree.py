"""`karmadactl tree`: everything that belongs to a workload, from its policies to its pods."""

import time
from typing import TYPE_CHECKING

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.why import one_wanted
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import width
from karmada.cli.reading import namespace_of
from karmada.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karmada.explain.tree import Node

_COLOURS = {"ok": 32, "bad": 31, "wait": 33}


async def run(session: Session, flags: Values) -> None:
    """Show the tree."""
    wanted = await one_wanted(session, flags)
    hub = session.hub(flags)
    from karmada.explain.nearest import did_you_mean
    from karmada.explain.tree import tree
    from karmada.explain.why.facts import read

    namespace = namespace_of(hub, flags, wanted.kind)
    facts = await read(hub.client, session.members(flags), wanted.kind, namespace, wanted.name)
    if facts.template is None:
        where = f" in namespace {namespace}" if namespace else ""
        hint = did_you_mean(wanted.name, facts.others)
        raise CommandError(f"there is no {wanted.kind.kind} {wanted.name}{where}{hint}")
    root = tree(facts, facts.template, time.time())
    if flags.output == "json":
        import orjson

        session.print(orjson.dumps(root.data(), option=orjson.OPT_INDENT_2).decode())
        return
    if flags.output:
        raise CommandError("--output is json")
    lines = list(_lines(root))
    wide = max(width(text) for text, _ in lines)
    for text, node in lines:
        health = f"{node.health:<24}"
        if session.colours and node.mood:
            health = f"\033[{_COLOURS[node.mood]}m{health}\033[0m"
        session.print(f"{text}{' ' * (wide - width(text))}   {health} {node.age}".rstrip())


def _lines(node: "Node", prefix: str = "", branch: str = "", below: str = "") -> "Iterator[tuple[str, Node]]":
    yield f"{prefix}{branch}{node.kind} {node.name}", node
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        yield from _lines(child, prefix + below, "└─ " if last else "├─ ", "   " if last else "│  ")


COMMAND = Command(
    "tree",
    "KIND/NAME [-n NAMESPACE]",
    "Show everything that belongs to a workload as a tree, with health and age: its policy, its binding, and for\n"
    "every cluster the Work, the object there and its pods.",
    run,
    (*common.CONNECTION, common.NAMESPACE, Flag("output", "", "json.", "o")),
    examples="karmadactl tree deployment/nginx",
)
