"""The index of a mirrored object, made when somebody asks: most objects are never selected, and a restart is short."""

import logging
from collections.abc import Mapping

import msgspec
import orjson

from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import NO_INDEX, Index, Selected

log = logging.getLogger(__name__)


class LateIndex(msgspec.Struct, gc=False, eq=False):
    """An `Indexed` that holds the object until then, and its `Index` after; it knows no mirror, as that holds it."""

    _served: Served
    _held: bytes | Index

    @property
    def uid(self) -> str:
        """Its own."""
        return self._index().uid

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self._index().labels

    @property
    def owners(self) -> tuple[str, ...]:
        """The uids of its owners."""
        return self._index().owners

    @property
    def fields(self) -> Mapping[str, str] | Selected:
        """The values of its selectable fields."""
        return self._index().fields

    def _index(self) -> Index:
        held = self._held
        if isinstance(held, bytes):
            try:
                held = self._served.index(orjson.loads(held))
            except Exception as error:  # its text may quote the object, which may be a Secret
                kind = self._served.kind
                log.error("a %s of a member cannot be read (%s); no selector finds it", kind, type(error).__name__)
                held = NO_INDEX
            self._held = held
        return held
