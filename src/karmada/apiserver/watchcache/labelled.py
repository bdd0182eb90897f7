"""Objects of one resource by the value of a label, for lists whose selector names one: nobody else is looked through.

The labels that were asked for last are kept, so that what clients ask at random cannot take more room than that.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

_KEPT = 4
"""Labels of a resource."""


class Label(NamedTuple):
    """A label and its value."""

    name: str
    value: str


class Labelled:
    """Keys of objects by the values of a few labels."""

    def __init__(self) -> None:
        self._labels: dict[str, dict[str, set[str]]] = {}
        """By name and value; the name that was asked for last comes last."""
        self.is_kept = False
        """Whether there is any label that changes matter to."""

    def keys(self, label: Label, everything: Iterable[tuple[str, Mapping[str, str]]]) -> Collection[str]:
        """The keys of the objects with a label, in no order; `everything` is read when it was not kept so far."""
        values = self._labels.pop(label.name, None)
        if values is None:
            values = {}
            for key, labels in everything:
                if (value := labels.get(label.name)) is not None:
                    values.setdefault(value, set()).add(key)
            if len(self._labels) >= _KEPT:
                del self._labels[next(iter(self._labels))]
        self._labels[label.name] = values
        self.is_kept = True
        return values.get(label.value, ())

    def changed(self, key: str, old: Mapping[str, str], new: Mapping[str, str]) -> None:
        """An object has other labels now; none where it is not there."""
        for name, values in self._labels.items():
            before, after = old.get(name), new.get(name)
            if before == after:
                continue
            if before is not None:
                values[before].discard(key)
                if not values[before]:
                    del values[before]
            if after is not None:
                values.setdefault(after, set()).add(key)

    def forget(self) -> None:
        """Keep nothing: labels were read anew."""
        self._labels.clear()
        self.is_kept = False
