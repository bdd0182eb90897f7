"""Which objects of members are copies of templates, by the bindings of the control plane.

Bindings are followed once somebody asks for the view of templates: who never does pays nothing.
"""

from contextvars import Context

import msgspec

from karmada.api import names
from karmada.api.base import Struct
from karmada.api.codec import decoder
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding, ResourceBindingSpec
from karmada.apiserver.failures import unavailable
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.search.view import GroupKind, Named, group_of
from karmada.works.build import keep_set

_Followed = tuple[Informer[ResourceBinding], Informer[ClusterResourceBinding]]


class _Bound(Struct, frozen=True, kw_only=True):
    """What is read of a binding."""

    spec: ResourceBindingSpec


class Templates:
    """Finds templates by their copies; a binding is found by its name, which follows from its template's."""

    def __init__(self, informers: InformerFactory) -> None:
        self._informers = informers
        self._followed: _Followed | None = None

    async def loaded(self) -> None:
        """Return once all bindings are known; raises 503 when that takes long."""
        if self._followed is None:
            # Whoever asks first, their tasks are everybody's: what they do is done in nobody's turn.
            self._followed = Context().run(self._follow)
        for informer in self._followed:
            if not await informer.is_loaded():
                failure = informer.reflector.failure
                why = f" ({type(failure).__name__})" if failure is not None else ""
                text = f"the {informer.type.resource} are being read{why}, and with them what is a copy; ask again"
                raise unavailable(text)

    def _follow(self) -> _Followed:
        return self._informers.of(ResourceBinding), self._informers.of(ClusterResourceBinding)

    def uid(self, copy: Named, cluster: str) -> str:
        """The uid of the template whose copy an object of a cluster is; empty where it is no copy.

        It may be called in any thread: it reads bytes, and never the decoded values that informers share.
        """
        if self._followed is None:
            return ""
        bindings, wide = self._followed
        key = Key(copy.namespace, names.binding_name(copy.kind.kind, copy.name))
        item = bindings.item(key) if copy.namespace else wide.item(key)
        if item is None:
            return ""
        try:
            spec = decoder(_Bound).decode(item.body).spec
        except msgspec.DecodeError:
            return ""  # What cannot be read has put nothing into any cluster.
        resource = spec.resource
        kind = GroupKind(group_of(resource.api_version), resource.kind)
        is_template = Named(kind, resource.namespace, resource.name) == copy
        return resource.uid if is_template and cluster in keep_set(spec) else ""
