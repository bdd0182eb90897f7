"""Which resources may be propagated at all."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from karmada.api import names
from karmada.machinery.discovery import ApiResource
from karmada.machinery.flags import checked, items
from karmada.machinery.options import flag

OWN_GROUPS = frozenset(
    f"{group}.karmada.io"
    for group in ("cluster", "policy", "work", "config", "networking", "autoscaling", "remedy", "apps")
)
"""Karmada's own groups, whose objects are never propagated."""
_NEVER_GROUPS = frozenset({"events.k8s.io", "coordination.k8s.io"})
_NEEDED_VERBS = frozenset({"delete", "list", "watch"})
_RESERVED_CONFIG_MAP = ("v1", "ConfigMap", "kube-system", "extension-apiserver-authentication")


class SkippedApis:
    """`--skipped-propagating-apis`: `group`, `group/version`, `group/version/Kind1,Kind2`; core as `v1/Kind`."""

    def __init__(self, text: str = "") -> None:
        self._groups: set[str] = set()
        self._versions: set[tuple[str, str]] = set()
        self._kinds: set[tuple[str, str, str]] = set()
        for entry in filter(None, text.split(";")):
            self._add(entry)

    def _add(self, entry: str) -> None:
        match entry.split("/"):
            case [group]:
                self._groups.add(group)
            case ["v1", kinds]:
                self._kinds.update(("", "v1", kind) for kind in kinds.split(","))
            case [group, version]:
                self._versions.add((group, version))
            case [group, version, kinds]:
                self._kinds.update((group, version, kind) for kind in kinds.split(","))
            case _:
                raise ValueError(
                    f'--skipped-propagating-apis: "{entry}" is not of the form group, group/version or '
                    "group/version/Kind1,Kind2"
                )

    def __contains__(self, resource: ApiResource) -> bool:
        group, version = resource.type.group, resource.type.version
        return (
            group in self._groups
            or (group, version) in self._versions
            or (group, version, resource.kind) in self._kinds
        )


def may_be_propagated(group: str, kind: str) -> bool:
    """Whether objects of a kind are ever propagated, whatever flags say."""
    return not (group in OWN_GROUPS or group in _NEVER_GROUPS or (not group and kind == "Event"))


class PropagationScope:
    """The resources the detector looks at."""

    def __init__(self, skipped_apis: SkippedApis, skipped_namespaces: Iterable[str] = ("kube-.*",)) -> None:
        self._skipped_apis = skipped_apis
        self._skipped_namespaces = [re.compile(pattern) for pattern in skipped_namespaces]

    def watches(self, resource: ApiResource) -> bool:
        """Whether a kind is looked at."""
        if not may_be_propagated(resource.type.group, resource.kind):
            return False
        return resource.verbs >= _NEEDED_VERBS and resource not in self._skipped_apis

    def covers(self, api_version: str, kind: str, namespace: str, name: str) -> bool:
        """Whether an object of a watched kind is looked at."""
        if (api_version, kind, namespace, name) == _RESERVED_CONFIG_MAP:
            return False
        where = name if (api_version, kind) == ("v1", "Namespace") else namespace
        return not (names.is_reserved_namespace(where) or self.skips_namespace(where))

    def skips_namespace(self, namespace: str) -> bool:
        """Whether `--skipped-propagating-namespaces` names the namespace."""
        return any(pattern.fullmatch(namespace) for pattern in self._skipped_namespaces)


def _apis(text: str) -> str:
    SkippedApis(text)
    return text


def _patterns(text: str) -> tuple[str, ...]:
    patterns = items(text)
    try:
        PropagationScope(SkippedApis(), patterns)
    except re.error as error:
        raise ValueError(f"--skipped-propagating-namespaces: {error.pattern!r} is no pattern: {error}") from error
    return patterns


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """What is never propagated."""

    skipped_apis: str = flag(
        "", checked(_apis), "APIs that are not propagated: group/version/Kind;...", "--skipped-propagating-apis"
    )
    skipped_namespaces: tuple[str, ...] = flag(
        ("kube-.*",),
        checked(_patterns),
        "Patterns of namespaces that are not propagated.",
        "--skipped-propagating-namespaces",
    )

    def scope(self) -> PropagationScope:
        """The resources that are left."""
        return PropagationScope(SkippedApis(self.skipped_apis), self.skipped_namespaces)
