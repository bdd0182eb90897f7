"""What `why` and `tree` say, as text: for the commands, the test fixture and the Python client."""

import time

from karmada.cli.output import chain as chain_text
from karmada.cli.output import tree as tree_text
from karmada.explain.errors import ExplainError
from karmada.explain.members import Members
from karmada.explain.nearest import did_you_mean
from karmada.explain.tree import Node, tree
from karmada.explain.why.chain import chain
from karmada.explain.why.facts import read
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource


class Absent(ExplainError):
    """There is no such object."""


async def why(
    hub: Client,
    members: Members,
    kind: ApiResource,
    namespace: str,
    name: str,
    focus: str = "",
    *,
    colours: bool = False,
) -> str:
    """Why an object is (not) where it should be; with `focus`, why it is not in that cluster."""
    links = chain(await read(hub, members, kind, namespace, name), focus)
    chain_text.lay_out(links)
    where = f" in namespace {namespace}" if namespace else ""
    return chain_text.as_text(f"{kind.kind} {name}{where}", links, colours)


async def root(hub: Client, members: Members, kind: ApiResource, namespace: str, name: str) -> Node:
    """Everything that belongs to an object; raises `Absent`."""
    facts = await read(hub, members, kind, namespace, name)
    if facts.template is None:
        where = f" in namespace {namespace}" if namespace else ""
        raise Absent(f"there is no {kind.kind} {name}{where}{did_you_mean(name, facts.others)}")
    return tree(facts, facts.template, time.time())


async def tree_of(hub: Client, members: Members, kind: ApiResource, namespace: str, name: str) -> str:
    """The same as text."""
    return tree_text.as_text(await root(hub, members, kind, namespace, name))
