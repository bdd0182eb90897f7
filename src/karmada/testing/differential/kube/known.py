"""Where we differ from a kube-apiserver on purpose: one predicate and one reason each."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from karmada.testing.differential.kube.comparing import plain
from karmada.testing.differential.kube.peers import Answer


class Difference(NamedTuple):
    """A difference between two answers to one request."""

    kind: str
    """code, object, causes, ownership, warnings or wording."""
    text: str
    step: dict[str, Any]
    stock: Answer
    own: Answer
    collecting: bool = False
    """Whether an object waited for the garbage collector before."""

    @property
    def place(self) -> str:
        """Where it is: a shorter transcript must differ in the same place."""
        return self.text.partition(":")[0]


class Wanted(NamedTuple):
    """A difference that is there on purpose."""

    reason: str
    applies: Callable[[Difference], bool]


def _stock_crashed(one: Difference) -> bool:
    return one.stock.code == 0 or (one.stock.code == 500 and one.own.code < 500)


def _empty_list(one: Difference) -> bool:
    """kube-apiserver writes null instead of an empty list where a name was selected and labels did not match."""
    return one.kind == "object" and one.text.endswith(": None / []") and one.step["method"] == "GET"


def _loopback(one: Difference) -> bool:
    return one.own.code < 300 and "loopback range" in str(one.stock.body)


def _overflows(one: Difference) -> bool:
    return one.own.code in (400, 422) and "of type int32" in str(one.own.body) and one.step["method"] == "PATCH"


def _added_and_deleted(one: Difference) -> bool:
    """A strategic patch that adds to a list what it deletes from it: which comes first varies."""
    body = one.step.get("body")
    patch = (body.get("metadata") or {}) if isinstance(body, dict) else {}
    added, deleted = patch.get("finalizers"), patch.get("$deleteFromPrimitiveList/finalizers")
    return "finalizers" in one.text and isinstance(added, list) and isinstance(deleted, list) and added == deleted


def _tried_with_a_version(one: Difference) -> bool:
    created = one.step["method"] == "POST" and "dryRun" in one.step["path"]
    return created and one.kind == "object" and one.text.startswith(".metadata.resourceVersion:")


def _stored_otherwise(one: Difference) -> bool:
    return one.kind == "object" and "APIResourceList" in one.text and "storageVersionHash" in one.text


def _listed_daemons(one: Difference) -> bool:
    return one.kind == "object" and "deprecated.daemonset.template.generation" in one.text


def _aggregates(one: Difference) -> bool:
    """ClusterRoles are aggregated by a controller, which stands beside kube-apiserver and is part of ours."""
    return "clusterroles" in one.step["path"] and (".rules" in one.text or "409" in one.text.partition(":")[0])


def _needs_kubelet(one: Difference) -> bool:
    return one.own.code == 501


_WAITING = re.compile(r"'finalizers': \[[^\]]*'(?:orphan|foregroundDeletion)'")


def waits(answer: Answer) -> bool:
    """Whether an answer shows an object that waits for the garbage collector."""
    return _WAITING.search(str(answer.body)) is not None


def _collected(one: Difference) -> bool:
    """The garbage collector stands beside kube-apiserver and is part of ours."""
    if one.collecting and (one.own.code == 404 or _lists(one) or "/metadata/finalizers" in str(one.step)):
        return True
    return waits(one.stock) and not waits(one.own)


def _lists(one: Difference) -> bool:
    """Whether both answers show several objects, or what happened to them."""
    bodies = (one.stock.body, one.own.body)
    lists = all(isinstance(body, list) or (isinstance(body, dict) and "items" in body) for body in bodies)
    return one.step["method"] == "GET" and lists


def _ending(one: Difference) -> bool:
    """A definition that is deleted goes once its objects are gone, which takes kube-apiserver a moment."""
    return (
        one.own.code == 404 and "deletionTimestamp" in str(one.stock.body) and "/customresourcedef" in one.step["path"]
    )


def _starting(one: Difference) -> bool:
    return one.stock.code == 429 and "storage is (re)initializing" in str(one.stock.body)


def _said_later(one: Difference) -> bool:
    """Both servers say a moment later whether the level of a FlowSchema or the service of an APIService exists."""
    if 409 in (one.stock.code, one.own.code) and one.step["path"].startswith(_WRITTEN_LATER):
        return "has been modified" in f"{one.stock.body}{one.own.body}"
    if one.kind != "object":
        return False
    if one.step["path"].startswith(_WRITTEN_LATER) and one.text.startswith(".status.conditions"):
        return True
    said = [[word in str(answer.body) for word in _LATER] for answer in (one.stock, one.own)]
    return said[0] != said[1] or one.text.endswith(_UNSURE)


_WRITTEN_LATER = ("/apis/flowcontrol.apiserver.k8s.io/", "/apis/apiregistration.k8s.io/")
_LATER = ("'Dangling'", "ServiceNotFound")
_UNSURE = ("'True' / '?'", "'?' / 'True'", "'False' / '?'", "'?' / 'False'")


def _empty_given(one: Difference) -> bool:
    """kube-apiserver compares some kinds before empty lists, maps and texts are dropped."""
    kinds = ("webhookconfigurations", "networkpolicies")
    if not any(kind in one.step["path"] for kind in kinds) or not one.text.startswith(".metadata.generation"):
        return False
    body = one.step.get("body")
    return body is None or any(empty in str(body) for empty in ("[]", "{}", "''"))


def _signs_otherwise(one: Difference) -> bool:
    return one.step["path"] == "/.well-known/openid-configuration" and "id_token_signing_alg" in one.text


def _empty_overhead(one: Difference) -> bool:
    return "Pod Overhead set without" in str(one.stock.body) and one.own.code < 300


def _both_empty(one: Difference) -> bool:
    return "only one of `sharedCounters` or `devices`" in str(one.stock.body) and "'devices': []" in str(one.step)


def _one_of_webhooks(one: Difference) -> bool:
    """Validating webhooks are asked at once, and the first refusal counts."""
    refusals = [set(_HOOKS.findall(str(answer.body))) for answer in (one.stock, one.own) if answer.code >= 400]
    return len(refusals) == 2 and bool(refusals[0]) and bool(refusals[1]) and not refusals[0] & refusals[1]


_HOOKS = re.compile(r'webhook "(\w+\.example\.com)"|webhook \\"(\w+\.example\.com)')


def _allocates(one: Difference) -> bool:
    return "failed to allocate IP" in str(one.stock.body) and "webhook" in str(one.stock.body)


def _lagging(one: Difference) -> bool:
    """A watch from version 0 begins with what a cache holds, which may be a moment behind."""
    if "resourceVersion=0" not in one.step["path"] or not isinstance(one.stock.body, list):
        return False
    return sorted(map(repr, plain(one.stock.body))) == sorted(map(repr, plain(one.own.body)))


def _ends_later(one: Difference) -> bool:
    """The bookmark after the initial events waits for progress that etcd makes known, at times beyond a short watch."""
    bodies = [plain(answer.body) for answer in (one.stock, one.own)]
    if not all(isinstance(body, list) for body in bodies) or len(bodies[1]) != len(bodies[0]) + 1:
        return False
    return bool(bodies[1][:-1] == bodies[0]) and "initial-events-end" in str(bodies[1][-1])


def _status_creates_service(one: Difference) -> bool:
    return "/services/o/status" in one.step["path"] and one.own.code == one.stock.code == 201


def _list_for_text(one: Difference) -> bool:
    return one.own.code == 422 and one.stock.code < 300 and 'of type string: "array"' in str(one.own.body)


def _applied_null(one: Difference) -> bool:
    return one.own.code in (200, 201) and one.stock.code == 422 and ': "null"' in str(one.stock.body)


def _birth(one: Difference) -> bool:
    """Revision 1 is gone once kube-apiserver compacts, five minutes after it starts."""
    return 410 in (one.stock.code, one.own.code) and re.search(r"resourceVersion=1(&|$)", one.step["path"]) is not None


def _self_link(one: Difference) -> bool:
    return one.kind == "object" and one.text.startswith(".metadata.selfLink")


WANTED: tuple[Wanted, ...] = (
    Wanted("selfLink is never kept; kube-apiserver shows it in answers to dry runs", _self_link),
    Wanted("null counts as absent in applied custom objects too, as it does in others", _applied_null),
    Wanted("the garbage collector is part of the server, and may have been faster", _collected),
    Wanted("a definition that is deleted goes a moment later in kube-apiserver", _ending),
    Wanted("kube-apiserver reads the definition anew and asks to come back", _starting),
    Wanted("whether the level of a FlowSchema or the service of an APIService exists is said later", _said_later),
    Wanted("an empty list or text in a webhook or network policy that has none is no change", _empty_given),
    Wanted("tokens of service accounts are signed with an elliptic curve", _signs_otherwise),
    Wanted("an empty overhead of a pod is as good as none", _empty_overhead),
    Wanted("an empty list of devices is as good as none", _both_empty),
    Wanted("of several webhooks that refuse, the first to answer is named", _one_of_webhooks),
    Wanted("kube-apiserver asks webhooks about the IPAddress of a Service as well", _allocates),
    Wanted("a watch from version 0 may be a moment behind in kube-apiserver", _lagging),
    Wanted("the end of the initial events of a watch may come later in kube-apiserver", _ends_later),
    Wanted("a Service that is created by its status is complete", _status_creates_service),
    Wanted("a list in place of a text with a format is refused; kube-apiserver overlooks it", _list_for_text),
    Wanted("a server that runs no workloads says so with 501", _needs_kubelet),
    Wanted("what a patch both adds to a list and deletes from it is there or not by chance", _added_and_deleted),
    Wanted("a version that is no number is left out of answers to dry runs of a creation", _tried_with_a_version),
    Wanted("policies that mutate and definitions are stored in their newest version", _stored_otherwise),
    Wanted("kube-apiserver forgets the template generation in lists of DaemonSets", _listed_daemons),
    Wanted("ClusterRoles are aggregated by the server itself", _aggregates),
    Wanted("a number beyond 32 bits in a patch is refused, not wrapped around", _overflows),
    Wanted("endpoints may be on loopback: everything may run on one machine", _loopback),
    Wanted("revision 1 is always too old; in kube-apiserver it is after five minutes", _birth),
    Wanted("kube-apiserver failed or broke the connection", _stock_crashed),
    Wanted("a list of nothing is empty, never null", _empty_list),
)


def wanted(difference: Difference) -> str | None:
    """Why a difference is there on purpose, if it is."""
    return next((one.reason for one in WANTED if one.applies(difference)), None)
