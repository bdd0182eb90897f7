"""The RBAC authoriser: decides in memory from indexes that follow every change of a role or binding.

- `put` and `remove` keep two indexes: roles by name, and for each subject the grants its bindings give. A change costs
  what it touches, whatever the number of objects.
- A decision looks only at the grants of the asking user and its groups; decisions are remembered until the next change.
- Members of `system:masters` may do everything, whatever the roles say: a broken role must not lock the owner out.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

from karmada.apiserver.auth.model import Attributes, Decision, UserInfo
from karmada.apiserver.auth.rules import Rule, parse_rules

JSONObject = dict[str, Any]
_K = TypeVar("_K")

GROUP: Final = "rbac.authorization.k8s.io"
KINDS: Final = ("clusterroles", "roles", "clusterrolebindings", "rolebindings")
MASTERS: Final = "system:masters"
CACHE_SIZE = 16_384
CACHED_CHARACTERS = 2048
"""Questions longer than this are not remembered: their names are up to whoever asks."""
LOOKED_AT = 20_000
"""Rules and bindings that one decision looks at, in some ten milliseconds: who administers a namespace may write
any number of roles and bindings there, for anybody."""
_TOO_MANY = f"RBAC: only {LOOKED_AT} of the rules and bindings that apply were looked at; bind fewer"

_ALLOWED: Final = Decision(True)
_Question = tuple[str, tuple[str, ...], Attributes]
"""Who asks, with which groups, for what."""
Subject = tuple[str, str]
"""("User", name) or ("Group", name); service accounts are users."""
RoleKey = tuple[str, str]
"""(namespace, name); the namespace of cluster roles is empty."""


class Grant(NamedTuple):
    """What one binding gives one subject. `namespace` is empty for grants everywhere."""

    namespace: str
    role: RoleKey
    reason: str


class _Binding(NamedTuple):
    namespace: str
    grants: tuple[tuple[Subject, Grant], ...]


class RbacAuthorizer:
    """The RBAC authoriser: answers from indexes of roles and bindings."""

    def __init__(self) -> None:
        self._roles: dict[RoleKey, tuple[Rule, ...]] = {}
        self._bindings: dict[tuple[str, str], _Binding] = {}
        """By (namespace, name); the namespace of cluster role bindings is empty."""
        self._everywhere: dict[Subject, dict[tuple[str, str], Grant]] = {}
        """Grants of cluster role bindings by subject and binding."""
        self._within: dict[tuple[str, Subject], dict[tuple[str, str], Grant]] = {}
        """Grants of role bindings by namespace and subject, and binding."""
        self._decisions: dict[_Question, Decision] = {}
        """Where some rule that applies names objects."""
        self._of_any_name: dict[_Question, Decision] = {}
        """What holds whatever the object is called: nearly all, remembered once and not for each object."""

    # Following the objects.

    def put(self, resource: str, obj: JSONObject) -> None:
        """A role or binding exists or changed."""
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if resource in ("clusterroles", "roles"):
            self._roles[key] = parse_rules(obj.get("rules"))
        else:
            self._unbind(key)
            self._bind(key, obj)
        self._changed()

    def remove(self, resource: str, namespace: str, name: str) -> None:
        """A role or binding is gone."""
        if resource in ("clusterroles", "roles"):
            self._roles.pop((namespace, name), None)
        else:
            self._unbind((namespace, name))
        self._changed()

    # Deciding.

    def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        """Whether `user` may do what `attributes` describe."""
        groups = user.groups
        if MASTERS in groups:
            return _ALLOWED
        key = (user.name, groups, attributes)
        of_any = (user.name, groups, _of_any_name(attributes)) if attributes.name else key
        decision = self._of_any_name.get(of_any) or self._decisions.get(key)
        if decision is None:
            decision, by_name = self._decide(user, attributes)
            if _size(user, attributes) <= CACHED_CHARACTERS:
                remembered = self._decisions if by_name else self._of_any_name
                if len(remembered) >= CACHE_SIZE:
                    remembered.clear()
                remembered[key if by_name else of_any] = decision
        return decision

    @property
    def remembered(self) -> int:
        """How many decisions are remembered."""
        return len(self._decisions) + len(self._of_any_name)

    def rules_for(self, user: UserInfo, namespace: str) -> list[Rule]:
        """The rules that apply to a user in a namespace (or in none), at most `LOOKED_AT`."""
        found = (rule for grant in self._grants(user, namespace) for rule in self._roles.get(grant.role, ()))
        return list(islice(found, LOOKED_AT))

    def role_rules(self, role: RoleKey) -> tuple[Rule, ...] | None:
        """Rules of a role; None when it does not exist."""
        return self._roles.get(role)

    def _decide(self, user: UserInfo, attributes: Attributes) -> tuple[Decision, bool]:
        """The decision, and whether another name could have another one."""
        missing: list[str] = []
        by_name = False
        left = LOOKED_AT
        for grant in self._grants(user, attributes.namespace):
            if left <= 0:
                return Decision(False, _TOO_MANY), by_name
            rules = self._roles.get(grant.role)
            left -= 1
            if rules is None:
                missing.append(_not_found(grant.role))
                continue
            looked_at = rules[:left]
            left -= len(rules)
            for rule in looked_at:
                by_name = by_name or bool(rule.names and rule._replace(names=()).allows(attributes))
                if rule.allows(attributes):
                    return Decision(True, f"RBAC: allowed by {grant.reason}"), by_name
        if left < 0:
            return Decision(False, _TOO_MANY), by_name
        if not missing:
            return Decision(False), by_name
        unique = list(dict.fromkeys(missing))
        why = "RBAC: " + (unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]")
        return Decision(False, why), by_name

    def _grants(self, user: UserInfo, namespace: str) -> Iterator[Grant]:
        subjects: list[Subject] = [("User", user.name), *[("Group", group) for group in user.groups]]
        for subject in subjects:
            if found := self._everywhere.get(subject):
                yield from found.values()
        if namespace:
            for subject in subjects:
                if found := self._within.get((namespace, subject)):
                    yield from found.values()

    # Inside.

    def _bind(self, key: tuple[str, str], obj: JSONObject) -> None:
        namespace, name = key
        reference = obj.get("roleRef") or {}
        kind, role = reference.get("kind", ""), reference.get("name", "")
        source = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        role_key = (namespace if kind == "Role" else "", role)
        grants: dict[Subject, Grant] = {}
        for entry in obj.get("subjects") or ():
            subject, shown = _subject(entry, namespace)
            if subject is not None and subject not in grants:
                grants[subject] = Grant(namespace, role_key, f'{source} of {kind} "{role}" to {shown}')
        self._bindings[key] = _Binding(namespace, tuple(grants.items()))
        for subject, grant in grants.items():
            if namespace:
                self._within.setdefault((namespace, subject), {})[key] = grant
            else:
                self._everywhere.setdefault(subject, {})[key] = grant

    def _unbind(self, key: tuple[str, str]) -> None:
        binding = self._bindings.pop(key, None)
        if binding is None:
            return
        for subject, _ in binding.grants:
            if binding.namespace:
                _forget(self._within, (binding.namespace, subject), key)
            else:
                _forget(self._everywhere, subject, key)

    def _changed(self) -> None:
        self._decisions.clear()
        self._of_any_name.clear()


def _of_any_name(attributes: Attributes) -> Attributes:
    """The same question about no object in particular."""
    return Attributes(
        attributes.verb,
        attributes.group,
        attributes.version,
        attributes.resource,
        attributes.subresource,
        attributes.namespace,
        "",
        attributes.path,
    )


def _size(user: UserInfo, attributes: Attributes) -> int:
    """Characters of a question and of who asks it."""
    named = (attributes.verb, attributes.group, attributes.version, attributes.resource, attributes.subresource)
    places = (attributes.namespace, attributes.name, attributes.path, user.name)
    return sum(map(len, (*named, *places, *user.groups)))


def _forget(index: dict[_K, dict[tuple[str, str], Grant]], at: _K, key: tuple[str, str]) -> None:
    grants = index[at]
    del grants[key]
    if not grants:
        del index[at]


def _subject(entry: JSONObject, namespace: str) -> tuple[Subject | None, str]:
    kind, name = entry.get("kind", ""), entry.get("name", "")
    if kind == "ServiceAccount":
        home = entry.get("namespace") or namespace
        return (("User", f"system:serviceaccount:{home}:{name}") if home else None), f'{kind} "{name}/{home}"'
    return ((kind, name) if kind in ("User", "Group") else None), f'{kind} "{name}"'


def _not_found(role: RoleKey) -> str:
    kind = "role" if role[0] else "clusterrole"
    return f'{kind}.{GROUP} "{role[1]}" not found'
