"""Makes `default_roles.txt` from the answer of a stock kube-apiserver with an empty store:

    kubectl get clusterroles,roles,clusterrolebindings,rolebindings -A -o json \\
        -l kubernetes.io/bootstrapping=rbac-defaults | python -m karmada.apiserver.auth.generate

The text is the notation that `defaults` reads. Roles that are aggregated from others are written without rules. The
roles of the single controllers of kube-controller-manager are left out: ours live in the server and need none.
"""

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from karmada.apiserver.auth.rbac import GROUP

JSONObject = dict[str, Any]
HEAD = """\
# The roles and bindings Kubernetes creates by itself, in the notation `defaults.py` reads. Made by generate.py from the
# answer of a running kube-apiserver.
# role lines: KIND [NAMESPACE/]NAME [label=LABEL] [aggregates=LABEL]; rule lines: VERBS | GROUPS | RESOURCES [| NAMES],
# or VERBS @ PATHS. Values are separated by spaces; the core group is written `core`.
# binding lines: bind [NAMESPACE/]NAME KIND/ROLE SUBJECT..., a subject is user=, group= or account=NAMESPACE/NAME.

"""
_ORDER = ("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")


def notation(objects: list[JSONObject]) -> str:
    """The table of these objects, roles first."""
    chosen = [obj for obj in objects if obj["kind"] in _ORDER and not _path(obj).startswith("system:controller:")]
    chosen.sort(key=lambda obj: (_ORDER.index(obj["kind"]), _path(obj)))
    return HEAD + "".join(f"{line}\n" for obj in chosen for line in _lines(obj))


def _lines(obj: JSONObject) -> Iterator[str]:
    if "roleRef" in obj:
        role = obj["roleRef"]
        yield " ".join(
            ["bind", _path(obj), f"{role['kind']}/{role['name']}", *map(_subject, obj.get("subjects") or [])]
        )
        return
    yield " ".join([obj["kind"].lower(), _path(obj), *_labels(obj)])
    if "aggregationRule" not in obj:
        yield from (f"  {_rule(rule)}" for rule in obj.get("rules") or [])


def _labels(role: JSONObject) -> Iterator[str]:
    prefix = f"{GROUP}/"
    for label in sorted(role["metadata"].get("labels") or {}):
        if label.startswith(prefix):
            yield f"label={label.removeprefix(prefix)}"
    for selector in role.get("aggregationRule", {}).get("clusterRoleSelectors", []):
        for label in sorted(selector["matchLabels"]):
            yield f"aggregates={label.removeprefix(prefix)}"


def _rule(rule: JSONObject) -> str:
    verbs = " ".join(rule["verbs"])
    if "nonResourceURLs" in rule:
        return f"{verbs} @ {' '.join(rule['nonResourceURLs'])}"
    groups = " ".join([group or "core" for group in rule["apiGroups"]])
    parts = [verbs, groups, " ".join(rule["resources"])]
    if rule.get("resourceNames"):
        parts.append(" ".join(rule["resourceNames"]))
    return " | ".join(parts)


def _subject(subject: JSONObject) -> str:
    if subject["kind"] == "ServiceAccount":
        return f"account={subject['namespace']}/{subject['name']}"
    return f"{subject['kind'].lower()}={subject['name']}"


def _path(obj: JSONObject) -> str:
    namespace = obj["metadata"].get("namespace", "")
    name: str = obj["metadata"]["name"]
    return f"{namespace}/{name}" if namespace else name


def main() -> None:
    """Write the table beside this module."""
    text = notation(json.load(sys.stdin)["items"])
    with open(str(files(__package__).joinpath("default_roles.txt")), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
