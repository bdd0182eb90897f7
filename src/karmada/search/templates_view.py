"""`proxying/templates/proxy/<path>`: the global API server, with what members made of templates shown under these.

It shows the kinds that controllers in members fill, as `karmada.search.view` describes, and nothing that the user would
not see in `proxying/karmada/proxy`. All other kinds are those of the control plane, so that templates stand there and
not their copies.
"""

from collections.abc import Sequence, Set

import orjson

from karmada.apiserver.failures import not_found
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Item, Match
from karmada.machinery.transport import GroupVersionResource
from karmada.search.access import Ask
from karmada.search.caches import Caches
from karmada.search.mirror import Mirror
from karmada.search.reading import both
from karmada.search.routes import Route
from karmada.search.sources import SourceFinder, Sources
from karmada.search.tables import cluster_of
from karmada.search.templates import Templates
from karmada.search.view import GroupKind, InCluster, Named, show, split


class TemplatesView:
    """What the view shows, by what is registered, cached and bound now."""

    def __init__(self, caches: Caches, finder: SourceFinder, templates: Templates) -> None:
        self._caches = caches
        self._finder = finder
        self._templates = templates

    @property
    def collections(self) -> Set[GroupVersionResource]:
        """The collections that it shows from members."""
        return self._caches.children

    async def loaded(self) -> None:
        """Return once it is known what is a copy of a template; raises 503 when that takes long."""
        await self._templates.loaded()

    def finder(self, cluster: str | None) -> SourceFinder:
        """Finds the sources of a read of the view, in one cluster only unless that is None."""
        return _WithoutCopies(self, self._caches, self._finder, cluster)

    def rewrite(self, body: bytes) -> bytes:
        """A cached object as the view shows it."""
        obj: JSONObject = orjson.loads(body)
        show(obj, cluster_of(obj), self._caches.child_kinds, self._templates.uid)
        return orjson.dumps(obj)

    def found(self, chosen: Route) -> tuple[InCluster, Mirror]:
        """The object that a name of the view means, and the mirror that has it; raises 404."""
        where, type_ = chosen.path, chosen.type
        assert where is not None
        meant = split(where.name)
        mirrors = [mirror for mirror in self._caches.mirrors(type_) if meant and mirror.cluster == meant.cluster]
        for mirror in mirrors:
            item = mirror.get(where.namespace, meant.name) if meant else None
            if meant and item is not None and self.shown(mirror)(item):
                return meant, mirror
        raise not_found(type_.group, type_.resource, where.name)

    def shown(self, mirror: Mirror) -> Match:
        """Which objects of a mirror are shown: those that are no copies of templates."""
        type_, cluster, templates = mirror.served.type, mirror.cluster, self._templates
        kind = GroupKind(type_.group, type_.kind)

        def match(item: Item) -> bool:
            return not templates.uid(Named(kind, item.namespace, item.name), cluster)

        return match


class _WithoutCopies:
    """A `SourceFinder` of the view."""

    def __init__(self, view: TemplatesView, caches: Caches, finder: SourceFinder, cluster: str | None) -> None:
        self._view = view
        self._caches = caches
        self._finder = finder
        self._cluster = cluster

    async def sources(self, ask: Ask, mirrors: Sequence[Mirror] | None = None) -> Sources:
        """The members that answer; who may read in none of them learns nothing about which there are."""
        known = self._caches.mirrors(ask.type) if mirrors is None else mirrors
        meant = [mirror for mirror in known if self._cluster in (None, mirror.cluster)]
        sources = await self._finder.sources(ask, meant)
        if not meant and mirrors is None:
            others = await self._finder.sources(ask, known)
            sources.refusing = [] if others.found else others.refusing
        for source in sources.found:
            source.match = both(source.match, self._view.shown(source.mirror))
        return sources
