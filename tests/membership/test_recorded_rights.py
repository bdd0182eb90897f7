"""An agent's rights against those recorded from the reference: never more but as listed, less where it can be.

`docs/differences-from-karmada.md` says the same to users.
"""

import asyncio
from typing import Any

import pytest
import yaml
from tests.membership.test_recorded import RECORDED

from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

GROUPS = ("system:karmada:agents", "system:karmada:registration:first", "system:authenticated")
AGENT = UserInfo("system:karmada:agent:member3", GROUPS)
MORE = {
    ("clusters/status", "member3"): {"get", "patch"},
    ("works", ""): {"patch"},
    ("works/status", ""): {"get"},
    ("leases", "member3"): {"patch"},
    ("configmaps", "cluster-info"): {"get"},
}
"""Rights to patch what the reference's agent replaces, on its own objects; and what is public."""
LESS = {
    ("clusters", ""): ({"list", "watch"}, "other members are none of its business"),
    ("clusters", "member1"): ({"list", "watch"}, "other members are none of its business"),
    ("leases", ""): ({"get", "update"}, "it renews its own lease and no other"),
    ("leases", "member1"): ({"get", "update"}, "it renews its own lease and no other"),
    ("certificatesigningrequests", ""): ({"get"}, "it reads its own requests, which have fixed names"),
    ("namespaces", ""): ({"get"}, "it needs none"),
    ("namespaces", "karmada-cluster"): ({"get"}, "it needs none"),
    ("namespaces", "karmada-es-member3"): ({"get"}, "it needs none"),
    ("services", ""): ({"list", "watch"}, "it needs none"),
    ("events", ""): ({"create", "patch", "update"}, "it writes events in its execution space only"),
}
OTHER_SPACES = {"karmada-system", "karmada-es-member3"}


def table() -> list[Any]:
    path = RECORDED / "pull-agent-credential" / "access-table.yaml"
    if not path.exists():
        return []
    rows = yaml.safe_load(path.read_text())["table"]
    return [pytest.param(row, id=f"{row['resource']} {row['namespace']}/{row['name']}") for row in rows]


@pytest.fixture(scope="module")
def authorizer() -> RbacAuthorizer:
    async def made() -> RbacAuthorizer:
        async with ControlPlane(ControlPlaneOptions()) as plane:
            for wanted in agent_objects("member3", "first"):
                await ensure(plane.client, wanted.type, wanted.tree)
            return plane.server.identity.rbac

    return asyncio.run(made())


@pytest.mark.parametrize("row", table())
def test_a_recorded_right(authorizer: RbacAuthorizer, row: dict[str, Any]) -> None:
    group, _, rest = row["resource"].rpartition(".io/")
    group = f"{group}.io" if group else ""
    if rest.startswith("apps/"):
        group, rest = "apps", rest.removeprefix("apps/")
    plural, _, sub = rest.partition("/")
    verbs = [verb for verb in row if verb not in ("resource", "namespace", "name", "connect")]
    by_verb = {verb: Attributes(verb, group, "v1", plural, sub, row["namespace"], row["name"]) for verb in verbs}
    ours = {verb for verb, attributes in by_verb.items() if authorizer.authorize(AGENT, attributes).allowed}
    theirs = {verb for verb in verbs if row[verb] == "allowed"}
    where = (rest, row["name"])
    assert ours - theirs <= MORE.get(where, set()), "never more"
    missing = theirs - ours
    allowed, _ = LESS.get(where, (set(), ""))
    if rest == "leases" and row["namespace"] in OTHER_SPACES:
        allowed = {"get", "create", "update"}
    if rest == "events" and row["namespace"] == "karmada-es-member3":
        allowed = set()
    assert missing == allowed & theirs, "less only as listed"
