"""RBAC rules as plain values: what one rule allows, and whether a set of rules covers another. Pure functions."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from karmada.apiserver.auth.model import Attributes

JSONObject = dict[str, Any]
ALL = "*"
COMPARISONS = 1_000_000
"""How many permissions that are granted are compared with rules of who grants them: about a second's work."""
_FEW = 16


class TooManyPermissions(ValueError):
    """A grant that takes too many comparisons to judge."""


class Words(tuple[str, ...]):
    """Many words in their order, found without looking at each."""

    def __init__(self, words: Iterable[str]) -> None:
        self._known = frozenset(self)

    def __contains__(self, word: object) -> bool:
        return word in self._known


def words(values: Sequence[str] | None) -> tuple[str, ...]:
    """The values of a field of a rule."""
    return Words(values) if values is not None and len(values) > _FEW else tuple(values or ())


class Rule(NamedTuple):
    """A PolicyRule; order is kept, as messages show it."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def allows(self, attributes: Attributes) -> bool:
        """Whether the rule alone allows what is asked."""
        if attributes.verb not in self.verbs and ALL not in self.verbs:
            return False
        if not attributes.resource and not attributes.version:
            return url_matches(self.urls, attributes.path)
        return (
            (attributes.group in self.groups or ALL in self.groups)
            and resource_matches(self.resources, attributes.resource, attributes.subresource)
            and (not self.names or attributes.name in self.names)
        )

    def to_object(self) -> JSONObject:
        """As the API shows it, without empty lists."""
        fields = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {name: list(values) for name, values in fields.items() if values}


def parse_rules(objects: Sequence[JSONObject] | None) -> tuple[Rule, ...]:
    """Rules of a role object."""
    return tuple([_parse(rule) for rule in objects or ()])


def _parse(rule: JSONObject) -> Rule:
    return Rule(
        words(rule.get("verbs")),
        words(rule.get("apiGroups")),
        words(rule.get("resources")),
        words(rule.get("resourceNames")),
        tuple(rule.get("nonResourceURLs") or ()),
    )


def resource_matches(allowed: Sequence[str], resource: str, subresource: str) -> bool:
    """Whether a rule's resources name the asked one: `*`, `pods`, `pods/log` or `*/scale`."""
    if ALL in allowed:
        return True
    if not subresource:
        return resource in allowed
    return f"{resource}/{subresource}" in allowed or f"*/{subresource}" in allowed


def url_matches(allowed: Sequence[str], path: str) -> bool:
    """Whether a rule's paths include the asked one; a trailing star is a prefix."""
    return any(url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL))) for url in allowed)


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The single permissions in `wanted` that no rule of `owned` gives, merged by resource as messages show them.

    Raises `TooManyPermissions`: lists of verbs, groups, resources and names multiply.
    """
    merged: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    others: list[Rule] = []
    of_verb: dict[str, list[Rule]] = {}
    for own in dict.fromkeys(owned):
        for verb in dict.fromkeys(own.verbs):
            of_verb.setdefault(verb, []).append(own)
    left = COMPARISONS
    for rule in wanted:
        if _count(rule) > left:
            raise TooManyPermissions
        for single in _singles(rule):
            held = False
            left -= 1
            for own in chain(of_verb.get(single.verbs[0], ()), of_verb.get(ALL, ())):
                left -= 1 + len(own.urls)
                held = _covers(own, single)
                if held or left < 0:
                    break
            if left < 0:
                raise TooManyPermissions
            if held:
                continue
            if single.urls:
                others.append(single)
            else:
                merged.setdefault((single.groups, single.resources, single.names), []).append(single.verbs[0])
    rules = [Rule(tuple(verbs), groups, resources, names) for (groups, resources, names), verbs in merged.items()]
    return rules + others


def describe(rule: Rule) -> str:
    """A rule in the words of escalation messages."""
    fields = {
        "APIGroups": rule.groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.urls,
        "ResourceNames": rule.names,
        "Verbs": rule.verbs,
    }
    return "{" + ", ".join(f"{name}:{quoted(values)}" for name, values in fields.items() if values) + "}"


def quoted(values: Iterable[str]) -> str:
    """A list as messages show it: `["a" "b"]`."""
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


def _count(rule: Rule) -> int:
    """How many single permissions a rule has."""
    return len(rule.verbs) * (len(rule.groups) * len(rule.resources) * (len(rule.names) or 1) + len(rule.urls))


def _singles(rule: Rule) -> Iterable[Rule]:
    """The rule taken apart: one verb on one resource (of one group, under one name), or on one path."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                if rule.names:
                    for name in rule.names:
                        yield Rule((verb,), (group,), (resource,), (name,))
                else:
                    yield Rule((verb,), (group,), (resource,))
    for url in rule.urls:
        for verb in rule.verbs:
            yield Rule((verb,), urls=(url,))


def _covers(own: Rule, single: Rule) -> bool:
    """Whether a rule gives a single permission; a star asked for needs a star owned."""
    if single.verbs[0] not in own.verbs and ALL not in own.verbs:
        return False
    if single.urls:
        return url_matches(own.urls, single.urls[0])
    if single.groups[0] not in own.groups and ALL not in own.groups:
        return False
    resource, _, subresource = single.resources[0].partition("/")
    if not resource_matches(own.resources, resource, subresource):
        return False
    return not own.names or (bool(single.names) and single.names[0] in own.names)
