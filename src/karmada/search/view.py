"""Objects of members as the view of templates shows them: named with their cluster, owned by templates. Pure.

`web-1` of the cluster `member1` is shown as `web-1.member1`. No cluster has a dot in its name, so names of different
clusters never meet, and the cluster stands after the last dot. Everything else stays as the member has it, uids
included; only references to owners change, to the names and uids under which the view shows these.
"""

from collections.abc import Callable, Mapping, Set
from typing import NamedTuple

from karmada.api import field_selector
from karmada.apiserver.requests.paths import ResourcePath
from karmada.apiserver.resources import JSONObject
from karmada.machinery.httpserver.failure import bad_request
from karmada.search.resource_versions import ResourceVersions

_NAME = "metadata.name"


class GroupKind(NamedTuple):
    """A kind, whatever its version."""

    group: str
    kind: str


class Named(NamedTuple):
    """An object by its name; `namespace` is empty for those that have none."""

    kind: GroupKind
    namespace: str
    name: str


ALWAYS_CHILDREN = frozenset(
    {
        GroupKind("", "Node"),
        GroupKind("", "Pod"),
        GroupKind("apps", "ControllerRevision"),
        GroupKind("apps", "ReplicaSet"),
    }
)
"""Kinds that members fill themselves; any other may be a template and is shown from members only where a registry says
that it is none."""
TemplateUid = Callable[[Named, str], str]
"""The uid of the template whose copy an object of a cluster is; empty where it is no copy."""


class InCluster(NamedTuple):
    """What a name of the view means: a name in a cluster."""

    name: str
    cluster: str


def join(name: str, cluster: str) -> str:
    """The name under which the view shows an object of a cluster."""
    return f"{name}.{cluster}"


def split(shown: str) -> InCluster | None:
    """What a name of the view means; None for one that the view never shows."""
    name, _, cluster = shown.rpartition(".")
    return InCluster(name, cluster) if name and cluster else None


def group_of(api_version: str) -> str:
    """The group of an apiVersion; the core group is empty."""
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


def show(obj: JSONObject, cluster: str, children: Set[GroupKind], template_uid: TemplateUid) -> None:
    """Turn an object of a cluster into what the view shows; `children` are the kinds it shows from members."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace") or ""
    metadata["name"] = join(metadata["name"], cluster)
    owners = metadata.get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict):
            _show_owner(owner, namespace, cluster, children, template_uid)


def _show_owner(
    owner: JSONObject, namespace: str, cluster: str, children: Set[GroupKind], template_uid: TemplateUid
) -> None:
    api_version, kind, name = (owner.get(field) for field in ("apiVersion", "kind", "name"))
    if not (isinstance(api_version, str) and isinstance(kind, str) and isinstance(name, str)):
        return
    which = GroupKind(group_of(api_version), kind)
    if which in children:
        owner["name"] = join(name, cluster)
        return
    uid = template_uid(Named(which, namespace, name), cluster)
    if not uid and namespace:
        uid = template_uid(Named(which, "", name), cluster)
    if uid:
        owner["uid"] = uid


class MemberRead(NamedTuple):
    """A read of the view as the members know it."""

    name: str
    params: Mapping[str, str]
    cluster: str | None = None
    """The only cluster that can have what is asked for; None for all, empty where none can."""


def member_read(name: str, params: Mapping[str, str]) -> MemberRead:
    """Translate the name in a path and those in a field selector; both mean one cluster."""
    meant = MemberRead(name, params)
    if name:
        found = split(name)
        meant = _within(meant._replace(name=found.name if found else name), found)
    if text := params.get("fieldSelector", ""):
        meant = _selected(meant, text)
    if meant.cluster and (version := params.get("resourceVersion", "")) not in ("", "0"):
        own = ResourceVersions.parse(version).get(meant.cluster)
        versions = ResourceVersions({meant.cluster: own} if own else {})
        meant = meant._replace(params={**meant.params, "resourceVersion": str(versions)})
    return meant


def _selected(meant: MemberRead, text: str) -> MemberRead:
    try:
        terms = field_selector.parse(text).terms
    except field_selector.FieldSelectorError:
        return meant  # It is refused where it is used.
    translated = []
    for term in terms:
        if term.field == _NAME:
            if not term.equal:
                raise bad_request(f"the view of templates selects by {_NAME}=NAME only, not by what it is not")
            found = split(term.value)
            meant = _within(meant, found)
            term = field_selector.Term(_NAME, found.name if found else term.value)
        translated.append(term)
    return meant._replace(params={**meant.params, "fieldSelector": str(field_selector.Selector(tuple(translated)))})


def _within(meant: MemberRead, found: InCluster | None) -> MemberRead:
    """Narrowed to the cluster of a name as well; two clusters have nothing in common."""
    cluster = found.cluster if found else ""
    return meant._replace(cluster=cluster if meant.cluster in (None, cluster) else "")


def renamed(path: str, parts: ResourcePath, name: str) -> str:
    """A URL path to an object, with another name of it."""
    segments = path.split("/")
    at = 4 + bool(parts.group) + parts.watch + 2 * bool(parts.namespace)
    segments[at] = name
    return "/".join(segments)
