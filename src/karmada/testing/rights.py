"""Which rights the components use while tests run, and which of those they are given nobody used.

A `Recorder` observes the decisions of every server in the process. `unused` compares what it saw in the whole suite
with the roles that are shipped: a role must not allow more than what was used and what is explained. What a component
is refused is kept apart: it lacks a right in production.
"""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

from karmada.api.names import SYSTEM_NAMESPACE
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.membership.component_roles import COMPONENTS, rights, user_of

OWN_SPACES = (SYSTEM_NAMESPACE, "karmada-cluster", "kube-system", "kube-public")
"""Namespaces of the control plane itself; all others are alike."""
ANY = "*"


class Right(NamedTuple):
    """One verb on one resource, and where: everywhere when `namespace` is empty."""

    user: str
    verb: str
    group: str
    resource: str
    """With its subresource after a slash."""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {self.name}" if self.name else ""
        return f"{self.user} {self.verb} {what}{named}" + (f" in {self.namespace}" if self.namespace else "")


def granted() -> list[Right]:
    """Every single right of the components' own roles."""
    found: list[Right] = []
    for role in rights():
        about = role["metadata"]
        for rule in role.get("rules") or ():
            found += _singles(about["name"], about.get("namespace", ""), rule)
    return found


def _singles(user: str, namespace: str, rule: Mapping[str, Any]) -> list[Right]:
    parts = product(rule["verbs"], rule["apiGroups"], rule["resources"], rule.get("resourceNames") or [""])
    return [Right(user, verb, group, resource, namespace, name) for verb, group, resource, name in parts]


class Recorder:
    """An observer of decisions (`apiserver.auth.usage`) about components."""

    def __init__(self) -> None:
        self.used: set[Right] = set()
        self.is_paused = False
        self._refused: list[Right] = []
        self._users = frozenset(map(user_of, COMPONENTS))
        self._names = {(right.resource, right.name) for right in granted() if right.name}

    def __call__(self, user: UserInfo, attributes: Attributes, allowed: bool) -> None:
        """A decision was made."""
        if self.is_paused or user.name not in self._users:
            return
        resource = (
            f"{attributes.resource}/{attributes.subresource}"
            if attributes.subresource
            else attributes.resource or attributes.path
        )
        if not allowed:
            self._refused.append(
                Right(user.name, attributes.verb, attributes.group, resource, attributes.namespace, attributes.name)
            )
        elif attributes.resource:
            space = attributes.namespace if not attributes.namespace or attributes.namespace in OWN_SPACES else ANY
            name = attributes.name if (resource, attributes.name) in self._names else ""
            self.used.add(Right(user.name, attributes.verb, attributes.group, resource, space, name))

    def take_refused(self) -> list[Right]:
        """What components were refused since this was last asked, each thing once."""
        taken, self._refused = self._refused, []
        return list(dict.fromkeys(taken))


def unused(used: Iterable[Right], explained: Iterable[Right]) -> list[Right]:
    """Rights of the components that nothing used and nothing explains.

    A right everywhere counts as used only if it was used outside the control plane's own namespaces; one with a
    star is never used by what happens to match it: it needs an explanation.
    """
    seen, reasons = set(used), set(explained)
    return [right for right in granted() if right not in reasons and not _is_used(right, seen)]


def _is_used(right: Right, seen: set[Right]) -> bool:
    if "*" in (right.verb, right.group, right.resource):
        return False
    spaces = (right.namespace,) if right.namespace else ("", ANY)
    names = (right.name,) if right.name else _names_of(right, seen)
    return any(right._replace(namespace=space, name=name) in seen for space in spaces for name in names)


def _names_of(right: Right, seen: set[Right]) -> set[str]:
    """A right without a name is used under any."""
    return {"", *(use.name for use in seen if use.resource == right.resource)}
