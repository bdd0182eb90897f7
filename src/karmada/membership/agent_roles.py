"""What an agent may do in the control plane: deal with its own Cluster, Works, Secrets and lease, and nothing else.

Narrower than in the reference: an agent there may read every Cluster and every lease, create any Cluster, and write
events anywhere. Here it reads its own only; creating is further limited by admission (`agent_writes`), as roles cannot
name what does not exist yet. Its renewals have one fixed name, so that it can read no other request.

Roles are bound to a registration, not to a name. The binding of the cluster-wide role is the record of the
registration: its subject says which one is current, its annotations what its token allows, and by which tokens it and
those that it replaced came. Until the token is spent it also holds what it replaces, for the case that it is
refused.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from karmada.api import annotations, names
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.membership.agent_grant import NOTHING, Grant, grant_of, listed, recorded
from karmada.membership.agent_identity import registration_group, registration_of
from karmada.membership.registration import check_name

RENEWAL_SUFFIX = "-renewal"
_REQUEST_SUFFIX = re.compile(r"-[a-z0-9]{5}")


class Wanted(NamedTuple):
    """An object of the control plane and the collection it belongs to."""

    type: GroupVersionResource
    tree: JSONObject


def agent_objects(
    cluster: str,
    registration: str,
    space: str = names.CLUSTER_NAMESPACE,
    *,
    request: str = "",
    grant: Grant = NOTHING,
    marks: Mapping[str, str] | None = None,
) -> list[Wanted]:
    """The execution space and roles of an agent, in the order in which they must be made.

    `request` is the one by which it registers: it may be withdrawn when registration fails. `marks` are further
    annotations of the record. `Refused` for a name whose objects could be another cluster's.
    """
    check_name(cluster)
    works = names.execution_space(cluster)
    subject = objects.group_subject(registration_group(registration))
    wide = objects.registration_record(cluster)
    secret, work = f"{wide}-secret", f"{wide}-work"
    record = objects.cluster_role_binding(wide, subject, {})
    record["metadata"]["annotations"] = recorded(grant) | dict(marks or {})
    return [
        Wanted(objects.NAMESPACES, objects.namespace(works)),
        Wanted(objects.CLUSTER_ROLES, objects.cluster_role(wide, _wide_rules(cluster, request), {})),
        Wanted(objects.CLUSTER_ROLE_BINDINGS, record),
        Wanted(objects.ROLES, objects.role(secret, space, _space_rules(cluster))),
        Wanted(objects.ROLE_BINDINGS, objects.role_binding(secret, space, subject)),
        Wanted(objects.ROLES, objects.role(work, works, _WORK_RULES)),
        Wanted(objects.ROLE_BINDINGS, objects.role_binding(work, works, subject)),
    ]


def agent_roles(cluster: str, space: str = names.CLUSTER_NAMESPACE) -> list[tuple[GroupVersionResource, str, str]]:
    """Type, name and namespace of an agent's roles and bindings, in the order in which they are taken away."""
    wide, works = objects.registration_record(cluster), names.execution_space(cluster)
    return [
        (objects.CLUSTER_ROLE_BINDINGS, wide, ""),
        (objects.CLUSTER_ROLES, wide, ""),
        (objects.ROLE_BINDINGS, f"{wide}-work", works),
        (objects.ROLES, f"{wide}-work", works),
        (objects.ROLE_BINDINGS, f"{wide}-secret", space),
        (objects.ROLES, f"{wide}-secret", space),
    ]


def recorded_registration(record: JSONObject) -> str:
    """The registration to which a record gives its cluster; empty for one that was made for a name."""
    return registration_of(subject.get("name") or "" for subject in record.get("subjects") or ())


def recorded_grant(record: JSONObject) -> Grant:
    """What the token of a registration allows the Cluster."""
    return grant_of(marks_of(record))


def recorded_users(record: JSONObject) -> tuple[str, ...]:
    """The users of the tokens by which a registration and those that it replaced came."""
    return listed(marks_of(record).get(annotations.REGISTRATION_USERS))


def recorded_request(record: JSONObject) -> str:
    """The uid of the request that began a registration; empty when the record does not say."""
    return marks_of(record).get(annotations.REGISTRATION_REQUEST, "")


def marks_of(record: JSONObject) -> dict[str, str]:
    """The annotations of a record."""
    return record["metadata"].get("annotations") or {}


def settled(record: JSONObject | None) -> JSONObject | None:
    """The record itself once its token is spent, until then what it replaces; None when that is nothing."""
    replaced = marks_of(record).get(annotations.REGISTRATION_REPLACES) if record is not None else None
    return record if replaced is None else orjson.loads(replaced)


def settle(record: JSONObject) -> JSONObject:
    """A record whose token is spent."""
    marks = {key: value for key, value in marks_of(record).items() if key != annotations.REGISTRATION_REPLACES}
    return {**record, "metadata": {**record["metadata"], "annotations": marks}}


def replacing_nothing(record: JSONObject) -> JSONObject:
    """A record whose token is not spent, when what it replaces has ended."""
    marks = marks_of(record) | {annotations.REGISTRATION_REPLACES: "null"}
    return {**record, "metadata": {**record["metadata"], "annotations": marks}}


def marks_for(request: JSONObject, users: Iterable[str], before: JSONObject | None) -> dict[str, str]:
    """What the record of a registration says in addition to its grant as long as its token is not spent."""
    replaced = before and {"metadata": {"annotations": marks_of(before)}, "subjects": before.get("subjects") or []}
    marks = {
        annotations.REGISTRATION_REQUEST: request["metadata"]["uid"],
        annotations.REGISTRATION_REPLACES: orjson.dumps(replaced).decode(),
        annotations.REGISTRATION_USERS: ",".join(users),
    }
    return {key: value for key, value in marks.items() if value}


def renewal_name(cluster: str) -> str:
    """The request by which an agent renews its certificate."""
    return f"{cluster}{RENEWAL_SUFFIX}"


def is_own_request(cluster: str, name: str) -> bool:
    """Whether a request can be one of this cluster only, by its name."""
    return name == renewal_name(cluster) or bool(
        name.startswith(cluster) and _REQUEST_SUFFIX.fullmatch(name.removeprefix(cluster))
    )


def _wide_rules(cluster: str, request: str) -> list[JSONObject]:
    karmada = "cluster.karmada.io"
    requests = [renewal_name(cluster), *([request] if is_own_request(cluster, request) else [])]
    return [
        _rule(karmada, ["clusters"], ["get", "list", "watch", "delete"], [cluster]),
        _rule(karmada, ["clusters"], ["create"]),
        _rule(karmada, ["clusters/status"], ["get", "patch", "update"], [cluster]),
        _rule(karmada, ["clusters/tunnel"], ["get"], [cluster]),
        _rule(
            "config.karmada.io",
            ["resourceinterpreterwebhookconfigurations", "resourceinterpretercustomizations"],
            ["get", "list", "watch"],
        ),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ["create"]),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ["get", "delete"], requests),
    ]


def _space_rules(cluster: str) -> list[JSONObject]:
    return [
        _rule("", ["secrets"], ["get", "patch"], list(objects.secret_names(cluster))),
        _rule("", ["secrets"], ["create"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "patch", "update"], [cluster]),
        _rule("coordination.k8s.io", ["leases"], ["create"]),
    ]


def _rule(group: str, resources: list[str], verbs: list[str], only: Sequence[str] = ()) -> JSONObject:
    rule: JSONObject = {"apiGroups": [group], "resources": resources, "verbs": verbs}
    if only:
        rule["resourceNames"] = list(only)
    return rule


_WORK_RULES = [
    _rule("work.karmada.io", ["works"], ["get", "create", "list", "watch", "update", "patch", "delete"]),
    _rule("work.karmada.io", ["works/status"], ["get", "patch", "update"]),
    _rule("", ["events"], ["create", "patch", "update"]),
]
