"""Who may do what with everything a control plane serves, computed from its discovery and its roles.

    python -m karmada.testing.access_matrix > tests/security/access_matrix.txt

writes the table that the tests compare with: one line per resource, subresource and page, and in it what each identity
may do. `identity=verbs` holds everywhere, `identity@namespace=verbs` is what is added there, `identity#name=verbs` what
is added for the object of that name. What a stranger may is not repeated for others with credentials. Whoever is not
named may do nothing.
"""

import asyncio
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.auth.rbac import RbacAuthorizer
from karmada.membership.component_roles import COMPONENTS
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing import actors
from karmada.testing.actors import Actor

STRANGER = "stranger"
OWN, OTHER, CLUSTER = "team-a", "team-b", "member1"
SPACES = (OWN, OTHER, "karmada-system", "karmada-cluster", f"karmada-es-{CLUSTER}", "kube-system", "kube-public")
READ = frozenset({"get", "list", "watch"})
WRITE = frozenset({"create", "update", "patch", "delete", "deletecollection"})
CONCEPTS = {
    ("", "users", ""): {"impersonate"},
    ("", "groups", ""): {"impersonate"},
    ("", "serviceaccounts", ""): {"impersonate"},
    ("authentication.k8s.io", "uids", ""): {"impersonate"},
    ("rbac.authorization.k8s.io", "roles", ""): {"bind", "escalate"},
    ("rbac.authorization.k8s.io", "clusterroles", ""): {"bind", "escalate"},
    ("certificates.k8s.io", "signers", ""): {"approve", "attest", "sign"},
    ("certificates.k8s.io", "certificatesigningrequests", "clusteragent"): {"create"},
    ("certificates.k8s.io", "certificatesigningrequests", "selfclusteragent"): {"create"},
}
"""Verbs and resources that RBAC knows beside what is served."""


class Thing(NamedTuple):
    """Something that can be asked for."""

    group: str
    resource: str
    subresource: str
    verbs: frozenset[str]
    path: str = ""

    def __str__(self) -> str:
        if self.path:
            return self.path
        name = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{name}/{self.subresource}" if self.subresource else name


async def cast(plane: ControlPlane) -> dict[str, Actor]:
    """Everybody whose rights the table shows, by the name it has there."""
    await actors.tenant(plane, OTHER)
    return {
        "anonymous": actors.anonymous(plane),
        STRANGER: actors.stranger(plane),
        "tenant-view": await actors.tenant(plane, OWN, "view"),
        "tenant-edit": await actors.tenant(plane, OWN, "edit"),
        "view": await actors.operator(plane, "view"),
        "edit": await actors.operator(plane, "edit"),
        "admin": await actors.operator(plane, "admin"),
        "agent": await actors.agent(plane, CLUSTER),
        "token": await actors.bootstrapper(plane),
        **{name.removeprefix("karmada-"): actors.component(plane, name) for name in COMPONENTS},
    }


async def things(plane: ControlPlane) -> list[Thing]:
    """Every resource, subresource and page that is served."""
    found: dict[tuple[str, str, str], set[str]] = {key: set(verbs) for key, verbs in CONCEPTS.items()}
    for resource in await plane.client.mapper.all():
        group, plural = resource.type.group, resource.type.resource
        found.setdefault((group, plural, ""), set()).update(resource.verbs)
        for name in resource.subresources:
            found.setdefault((group, plural, name), set()).update(("get", "create", "update", "patch", "delete"))
    paths = sorted(path.rstrip("/") or path for path in plane.server.pages.routes)
    pages = [Thing("", "", "", frozenset({"get"}), path) for path in paths]
    return [Thing(*key, frozenset(verbs)) for key, verbs in sorted(found.items())] + pages


def table(rbac: RbacAuthorizer, cast: Mapping[str, UserInfo], things: Iterable[Thing]) -> list[str]:
    """One line for each thing."""
    return [" ".join([str(thing), *_cells(rbac, cast, thing)]) for thing in things]


def _cells(rbac: RbacAuthorizer, cast: Mapping[str, UserInfo], thing: Thing) -> Iterable[str]:
    for who, user in cast.items():
        common = () if who in ("anonymous", STRANGER) else (cast[STRANGER],)
        added = partial(_added, rbac, user, common, thing)
        everywhere = added("", "")
        yield from _cell(who, everywhere)
        general = rbac.rules_for(user, "")
        for space in ("", *SPACES):
            rules = rbac.rules_for(user, space)
            if space and len(rules) == len(general):
                continue
            there = added(space, "")
            here = f"{who}@{space}" if space else who
            yield from _cell(here, there - everywhere)
            for name in sorted({name for rule in rules if thing.group in rule.groups for name in rule.names}):
                known = there | added("", name) if space else there
                yield from _cell(f"{here}#{name}", added(space, name) - known)


def _added(
    rbac: RbacAuthorizer, user: UserInfo, common: Iterable[UserInfo], thing: Thing, space: str, name: str
) -> frozenset[str]:
    """What a user may do beyond what others may."""
    others = [_allowed(rbac, other, thing, space, name) for other in common]
    return _allowed(rbac, user, thing, space, name).difference(*others)


def _cell(who: str, verbs: frozenset[str]) -> list[str]:
    if not verbs:
        return []
    words = [word for word, all_ in (("read", READ), ("write", WRITE)) if all_ <= verbs]
    for word, all_ in (("read", READ), ("write", WRITE)):
        if word in words:
            verbs -= all_
    return [f"{who}={','.join([*words, *sorted(verbs)])}"]


def _allowed(rbac: RbacAuthorizer, user: UserInfo, thing: Thing, space: str, name: str) -> frozenset[str]:
    group, resource, subresource, verbs, path = thing
    return frozenset(
        verb
        for verb in verbs
        if rbac.authorize(user, Attributes(verb, group, "", resource, subresource, space, name, path)).allowed
    )


async def compute() -> list[str]:
    """The table of a new control plane."""
    async with ControlPlane(ControlPlaneOptions()) as plane:
        who = {name: actor.user for name, actor in (await cast(plane)).items()}
        return table(plane.server.identity.rbac, who, await things(plane))


def main() -> None:
    """Print the table."""
    sys.stdout.write("\n".join(asyncio.run(compute())) + "\n")


if __name__ == "__main__":
    main()
