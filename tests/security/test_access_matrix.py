"""Who may do what with everything that is served: computed from discovery, compared with a committed table."""

import difflib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from karmada.apiserver.auth.model import Attributes
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import GroupVersionResource, Request, Verb
from karmada.membership.component_roles import COMPONENTS
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.access_matrix import OWN, Thing, cast, table, things

COMMITTED = Path(__file__).with_name("access_matrix.txt")


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with ControlPlane(ControlPlaneOptions()) as running:
        yield running


async def test_everybody_may_do_what_the_table_says_with_everything_that_is_served(plane: ControlPlane) -> None:
    found = await rows(plane, await things(plane))
    known = COMMITTED.read_text().splitlines()
    changed = "\n".join(line for line in difflib.unified_diff(known, found, lineterm="", n=0) if line[:2] != "@@")
    hint = f"judge every line, then: python -m karmada.testing.access_matrix > tests/security/{COMMITTED.name}"
    assert found == known, f"{changed}\n{hint}"


async def test_a_kind_without_a_line_is_noticed(plane: ControlPlane) -> None:
    names = {"plural": "holes", "singular": "hole", "kind": "Hole"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "holes.example.io"},
        "spec": {"group": "example.io", "names": names, "scope": "Namespaced", "versions": [version]},
    }
    served = await plane.client.mapper.of_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await plane.client.resource(served.type).create(crd)
    await plane.client.mapper.refresh()
    added = [thing for thing in await things(plane) if thing.group == "example.io"]
    assert await rows(plane, added) == ["holes.example.io controller-manager=read,patch"]
    assert "holes.example.io" not in COMMITTED.read_text()


def test_a_tenant_has_nothing_outside_of_its_namespace() -> None:
    for line in COMMITTED.read_text().splitlines():
        for cell in line.split()[1:]:
            who, _, _ = cell.partition("=")
            assert not who.startswith("tenant") or who.endswith(f"@{OWN}"), line


async def rows(plane: ControlPlane, served: list[Thing]) -> list[str]:
    """Lines of the table for this control plane."""
    users = {name: actor.user for name, actor in (await cast(plane)).items()}
    return table(plane.server.identity.rbac, users, served)


async def test_requests_over_https_are_decided_as_the_table_says(plane: ControlPlane) -> None:
    """Every list of everybody outside, through TLS, authentication and all else that is in front of the roles."""
    people = {name: actor for name, actor in (await cast(plane)).items() if f"karmada-{name}" not in COMPONENTS}
    endpoint = await plane.listen()
    served = await plane.client.mapper.all()
    rbac = plane.server.identity.rbac
    for name, actor in people.items():
        client = actor.over_https(endpoint)
        try:
            for resource in served:
                if "list" not in resource.verbs:
                    continue
                expected = rbac.authorize(actor.user, _listing(resource.type)).allowed
                assert await _is_answered(client, resource.type) is expected, f"{name} lists {resource.type}"
        finally:
            await client.close()


def _listing(type_: GroupVersionResource) -> Attributes:
    return Attributes("list", type_.group, type_.version, type_.resource)


async def _is_answered(client: Client, type_: GroupVersionResource) -> bool:
    try:
        await client.transport.send(Request(Verb.LIST, type_, params={"limit": "1"}))
    except Forbidden:
        return False
    return True
