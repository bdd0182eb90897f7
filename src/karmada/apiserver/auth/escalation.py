"""Nobody grants what they do not hold: checks on writes of roles and bindings, before they are stored.

Holding is by RBAC rules; `system:masters`, the verb `escalate` on the role and the verb `bind` on the role referred
to are the ways around it. A policy's claim (its labels and annotations on a template) grants nothing: the controller
manager puts it on roles and bindings without holding what those grant.
"""

from typing import Any

from karmada.api import annotations, labels
from karmada.apiserver import failures
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.auth.rbac import GROUP, MASTERS, RbacAuthorizer
from karmada.apiserver.auth.rules import (
    COMPARISONS,
    Rule,
    TooManyPermissions,
    describe,
    parse_rules,
    quoted,
    uncovered,
)

JSONObject = dict[str, Any]
EVERYTHING = (Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",)))


_CLAIM = frozenset(
    (
        labels.PROPAGATION_POLICY_PERMANENT_ID,
        labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID,
        annotations.PROPAGATION_POLICY_NAMESPACE,
        annotations.PROPAGATION_POLICY_NAME,
        annotations.CLUSTER_PROPAGATION_POLICY_NAME,
    )
)
"""No other label is left out: aggregation rules select roles by labels."""


def check_write(rbac: RbacAuthorizer, user: UserInfo, resource: str, obj: JSONObject, old: JSONObject | None) -> None:
    """Raise the `Failure` of a create (`old` is None) or update of a role or binding that would escalate."""
    if MASTERS in user.groups or (old is not None and _grants_nothing_new(obj, old)):
        return
    if resource in ("roles", "clusterroles"):
        _check_role(rbac, user, resource, obj, old)
    else:
        _check_binding(rbac, user, resource, obj)


def _check_role(rbac: RbacAuthorizer, user: UserInfo, resource: str, obj: JSONObject, old: JSONObject | None) -> None:
    namespace, name = _key(obj)
    attributes = Attributes("escalate", GROUP, "*", resource, "", namespace, name)
    if rbac.authorize(user, attributes).allowed:
        return
    _confirm(rbac, user, namespace, parse_rules(obj.get("rules")), resource, name)
    if _aggregates(obj) or _aggregates(old):
        owned = rbac.rules_for(user, namespace)
        if uncovered(owned, EVERYTHING):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise failures.forbidden(GROUP, resource, name, why)


def _check_binding(rbac: RbacAuthorizer, user: UserInfo, resource: str, obj: JSONObject) -> None:
    namespace, name = _key(obj)
    reference = obj.get("roleRef") or {}
    role = reference.get("name", "")
    local = reference.get("kind") == "Role"
    attributes = Attributes("bind", GROUP, "*", "roles" if local else "clusterroles", "", namespace, role)
    if rbac.authorize(user, attributes).allowed:
        return
    rules = rbac.role_rules((namespace if local else "", role))
    if rules is None:
        raise failures.not_found(GROUP, resource, role)
    _confirm(rbac, user, namespace, rules, resource, name)


def _confirm(
    rbac: RbacAuthorizer, user: UserInfo, namespace: str, wanted: tuple[Rule, ...], resource: str, name: str
) -> None:
    try:
        missing = uncovered(rbac.rules_for(user, namespace), wanted)
    except TooManyPermissions:
        why = f"rules: comparing them with what you hold takes more than {COMPARISONS} comparisons; grant less at once"
        raise failures.forbidden(GROUP, resource, name, why) from None
    if missing:
        lines = "\n".join(sorted({describe(rule) for rule in missing}))
        why = (
            f'user "{user.name}" (groups={quoted(user.groups)}) is attempting to grant RBAC permissions '
            f"not currently held:\n{lines}"
        )
        raise failures.forbidden(GROUP, resource, name, why)


def _grants_nothing_new(obj: JSONObject, old: JSONObject) -> bool:
    """Whether only owners and finalizers change, as the garbage collector needs, or a policy's claim."""
    return _what_grants(obj) == _what_grants(old)


def _what_grants(obj: JSONObject) -> JSONObject:
    ignored = ("ownerReferences", "finalizers", "managedFields", "selfLink", "resourceVersion", "generation")
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in ignored}
    for field in ("labels", "annotations"):
        metadata[field] = {key: text for key, text in (metadata.get(field) or {}).items() if key not in _CLAIM}
    return {**obj, "metadata": metadata}


def _aggregates(obj: JSONObject | None) -> bool:
    return bool(((obj or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _key(obj: JSONObject) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata.get("name", "")
