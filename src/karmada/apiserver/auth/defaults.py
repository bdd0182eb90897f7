"""The roles and bindings that Kubernetes creates by itself, and how they are brought up to date at start-up.

The table `default_roles.txt` is made by `generate` from what a stock kube-apiserver created.

What is absent is created. What exists and does not carry the annotation `autoupdate: "false"` gets back the rules and
subjects it lost; what users added stays.
"""

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson

from karmada.apiserver.auth.aggregation import aggregated_rules
from karmada.apiserver.auth.rbac import GROUP
from karmada.apiserver.auth.rules import Rule, parse_rules, uncovered

JSONObject = dict[str, Any]
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
BOOTSTRAPPING = "kubernetes.io/bootstrapping"
_OWN = """\
role kube-public/system:public-cluster-info-viewer
  get | core | configmaps | cluster-info
bind kube-public/system:public-cluster-info-viewer Role/system:public-cluster-info-viewer \
group=system:authenticated group=system:unauthenticated
"""
"""Beside Kubernetes' own: everybody may learn how to find and believe this server, as installers arrange elsewhere."""
Lookup = Callable[[str, str, str], JSONObject | None]
"""(resource, namespace, name) to the stored object."""


class Write(NamedTuple):
    """An object to create (`old` is None) or replace."""

    resource: str
    obj: JSONObject
    old: JSONObject | None


def default_objects() -> list[tuple[str, JSONObject]]:
    """All default objects with their resource, roles before bindings; aggregated roles have their rules already."""
    return [(resource, obj) for resource, obj in orjson.loads(_table())]


@cache
def _table() -> bytes:
    """The default objects, for every server of the process to have its own copy of."""
    text = files(__package__).joinpath("default_roles.txt").read_text(encoding="utf-8")
    found = list(_parse((_OWN + text).splitlines()))
    roles = [obj for resource, obj in found if resource == "clusterroles"]
    # `edit` takes part in `admin`, `view` in `edit`: inner ones first.
    for name in ("view", "edit", "admin"):
        role = next(r for r in roles if r["metadata"]["name"] == name)
        role["rules"] = aggregated_rules(role, roles)
    return orjson.dumps(found)


def plan(lookup: Lookup) -> list[Write]:
    """What has to be written so that all defaults hold."""
    writes = []
    for resource, obj in default_objects():
        metadata = obj["metadata"]
        old = lookup(resource, metadata.get("namespace", ""), metadata["name"])
        if old is None:
            writes.append(Write(resource, obj, None))
        elif (new := _reconciled(resource, obj, old)) is not None:
            writes.append(Write(resource, new, old))
    return writes


def _reconciled(resource: str, wanted: JSONObject, old: JSONObject) -> JSONObject | None:
    if (old["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false":
        return None
    if resource in ("roles", "clusterroles"):
        if "aggregationRule" in wanted:
            return None
        if old.get("rules") == wanted.get("rules"):
            return None
        missing = uncovered(parse_rules(old.get("rules")), parse_rules(wanted.get("rules")))
        if not missing:
            return None
        return {**old, "rules": [*(old.get("rules") or []), *[rule.to_object() for rule in missing]]}
    lost = [subject for subject in wanted.get("subjects", []) if subject not in (old.get("subjects") or [])]
    return {**old, "subjects": [*(old.get("subjects") or []), *lost]} if lost else None


def _parse(lines: list[str]) -> Iterator[tuple[str, JSONObject]]:
    current: JSONObject | None = None
    for line in lines:
        if line.startswith("  "):
            assert current is not None
            current["rules"].append(_rule(line).to_object())
        elif line and not line.startswith("#"):
            kind, name, *options = line.split()
            if kind == "bind":
                yield _binding(name, options)
            else:
                current = _role(kind, name, options)
                yield ("clusterroles" if kind == "clusterrole" else "roles"), current


def _rule(line: str) -> Rule:
    if "@" in line:
        verbs, _, paths = line.partition("@")
        return Rule(tuple(verbs.split()), urls=tuple(paths.split()))
    parts = [tuple(part.split()) for part in line.split("|")]
    verbs_, groups, resources, *names = parts
    plain = tuple(["" if group == "core" else group for group in groups])
    return Rule(verbs_, plain, resources, names[0] if names else ())


def _role(kind: str, name: str, options: list[str]) -> JSONObject:
    role = _object("ClusterRole" if kind == "clusterrole" else "Role", name)
    role["rules"] = []
    for option in options:
        key, _, value = option.partition("=")
        if key == "label":
            role["metadata"]["labels"][f"{GROUP}/{value}"] = "true"
        else:
            selector = {"matchLabels": {f"{GROUP}/{value}": "true"}}
            role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    return role


def _binding(name: str, options: list[str]) -> tuple[str, JSONObject]:
    reference, *subjects = options
    kind, _, role = reference.partition("/")
    binding = _object("RoleBinding" if "/" in name else "ClusterRoleBinding", name)
    if subjects:
        binding["subjects"] = [_subject(subject) for subject in subjects]
    binding["roleRef"] = {"apiGroup": GROUP, "kind": kind, "name": role}
    return ("rolebindings" if "/" in name else "clusterrolebindings"), binding


def _subject(text: str) -> JSONObject:
    kind, _, name = text.partition("=")
    if kind == "account":
        namespace, _, account = name.partition("/")
        return {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return {"kind": kind.capitalize(), "apiGroup": GROUP, "name": name}


def _object(kind: str, path: str) -> JSONObject:
    namespace, _, name = path.rpartition("/")
    metadata: JSONObject = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {BOOTSTRAPPING: "rbac-defaults"}
    metadata["annotations"] = {AUTOUPDATE: "true"}
    return {"kind": kind, "apiVersion": f"{GROUP}/v1", "metadata": metadata}
