"""Namespaces and what may be in them: nothing is created where there is no namespace or where one is ending.

What the server itself puts there is not deleted.
"""

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.builtin.strategies.classes import SYSTEM_PRIORITIES
from karmada.apiserver.failures import forbidden, not_found
from karmada.apiserver.watchcache import Item, WatchCache
from karmada.machinery.httpserver.failure import Failure

_NAMESPACES = ("", "namespaces")
_PRIORITY_CLASSES = ("scheduling.k8s.io", "priorityclasses")
PROTECTED = frozenset({"default", "kube-system", "kube-public"})
_REVIEWS = frozenset({"localsubjectaccessreviews"})


class NamespaceLifecycle:
    """Refuses writes into absent or terminating namespaces, and the deletion of the built-in ones."""

    operations = (Operation.CREATE, Operation.DELETE)

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    def applies(self, request: AdmissionRequest) -> bool:
        """Creations in a namespace, and deletions of namespaces."""
        if request.operation is Operation.CREATE:
            return request.type.namespaced and request.type.plural not in _REVIEWS
        return request.type.stored_as == _NAMESPACES

    async def mutate(self, request: AdmissionRequest) -> None:
        """Refuse before anything else is done."""
        type_ = request.type
        if request.operation is Operation.DELETE:
            if request.name in PROTECTED:
                raise forbidden("", "namespaces", request.name, "this namespace may not be deleted")
            return
        item = self._store.get(_NAMESPACES, "", request.namespace)
        if item is None:
            raise not_found("", "namespaces", request.namespace)
        if not item.ends:
            return
        why = f"unable to create new content in namespace {request.namespace} because it is being terminated"
        failure = forbidden(type_.group, type_.plural, request.name, why)
        assert failure.details is not None
        failure.details["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {request.namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise failure

    async def validate(self, request: AdmissionRequest) -> None:
        """All is said in `mutate`."""


class SystemPriorities:
    """Refuses the deletion of the priority classes that the system has."""

    kinds = (_PRIORITY_CLASSES,)
    operations = (Operation.DELETE,)

    def applies(self, request: AdmissionRequest) -> bool:
        """All of these."""
        return True

    async def mutate(self, request: AdmissionRequest) -> None:
        """Refuse before anything else is done."""
        if request.name in SYSTEM_PRIORITIES:
            raise refusal(request, "this is a system priority class and cannot be deleted")

    async def validate(self, request: AdmissionRequest) -> None:
        """All is said in `mutate`."""


class TerminatingDefinitions:
    """Refuses new objects of a CRD that is being deleted."""

    operations = (Operation.CREATE,)

    def __init__(self, store: WatchCache) -> None:
        self._store = store
        self._lasting: dict[str, Item] = {}
        """Definitions found not to be marked, as they were then: they are long, and looked at for every object."""

    def applies(self, request: AdmissionRequest) -> bool:
        """Creations of custom objects."""
        return request.type.custom

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse when the definition is marked for deletion."""
        type_ = request.type
        item = self._store.get(_DEFINITIONS, "", f"{type_.plural}.{type_.group}")
        if item is None or item is self._lasting.get(item.name):
            return
        if item.ends:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(type_.group, type_.plural, request.name, why)
        self._lasting[item.name] = item


_DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")


def refusal(request: AdmissionRequest, why: str) -> Failure:
    """The 403 of an admission plugin."""
    return forbidden(request.type.group, request.type.plural, request.name, why)
