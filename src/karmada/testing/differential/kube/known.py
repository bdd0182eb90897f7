"""Where we differ from a kube-apiserver on purpose: one predicate and one reason each."""

from collections.abc import Callable
from typing import Any, NamedTuple

from karmada.testing.differential.kube.peers import Answer


class Difference(NamedTuple):
    """A difference between two answers to one request."""

    kind: str
    """code, object, causes, ownership, warnings or wording."""
    text: str
    step: dict[str, Any]
    stock: Answer
    own: Answer

    @property
    def place(self) -> str:
        """Where it is: a shorter transcript must differ in the same place."""
        return self.text.partition(":")[0]


class Wanted(NamedTuple):
    """A difference that is there on purpose."""

    reason: str
    applies: Callable[[Difference], bool]


def _stock_crashed(one: Difference) -> bool:
    return one.stock.code in (0, 500) and one.own.code < 500


def _empty_list(one: Difference) -> bool:
    """kube-apiserver writes null instead of an empty list where a name was selected and labels did not match."""
    return one.kind == "object" and one.text.endswith(": None / []") and one.step["method"] == "GET"


def _loopback(one: Difference) -> bool:
    return one.own.code < 300 and "loopback range" in str(one.stock.body)


def _overflows(one: Difference) -> bool:
    return one.own.code == 422 and "of type int32" in str(one.own.body) and one.step["method"] == "PATCH"


def _listed_daemons(one: Difference) -> bool:
    return one.kind == "object" and "deprecated.daemonset.template.generation" in one.text


def _aggregates(one: Difference) -> bool:
    """ClusterRoles are aggregated by a controller, which stands beside kube-apiserver and is part of ours."""
    return "clusterroles" in one.step["path"] and ".rules" in one.text


def _needs_kubelet(one: Difference) -> bool:
    return one.own.code == 501


WANTED: tuple[Wanted, ...] = (
    Wanted("a server that runs no workloads says so with 501", _needs_kubelet),
    Wanted("kube-apiserver forgets the template generation in lists of DaemonSets", _listed_daemons),
    Wanted("ClusterRoles are aggregated by the server itself", _aggregates),
    Wanted("a number beyond 32 bits in a strategic patch is refused, not wrapped around", _overflows),
    Wanted("endpoints may be on loopback: everything may run on one machine", _loopback),
    Wanted("kube-apiserver failed or broke the connection", _stock_crashed),
    Wanted("a list of nothing is empty, never null", _empty_list),
)


def wanted(difference: Difference) -> str | None:
    """Why a difference is there on purpose, if it is."""
    return next((one.reason for one in WANTED if one.applies(difference)), None)
