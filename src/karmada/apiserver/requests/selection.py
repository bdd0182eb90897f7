"""Label and field selectors as a test of stored items."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from karmada.api import field_selector, label_selector
from karmada.apiserver.requests import offload
from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import Item, Label
from karmada.machinery.httpserver.failure import bad_request

_EXPENSIVE = 8
"""How many times longer than a character of a body one of a selector takes."""
Match = Callable[[Item], bool]


class Selection(NamedTuple):
    """`match` is None when everything matches; `name` is set when a field selector names one object, `label` when all
    that match have one."""

    match: Match | None
    name: str = ""
    label: Label | None = None


async def select(served: Served, labels: str, fields: str) -> Selection:
    """Parse both selectors; unknown fields and bad syntax are refused with 400."""
    if not labels and not fields:
        return Selection(None)
    return await offload.run(_EXPENSIVE * (len(labels) + len(fields)), _parsed, served, labels, fields)


def _parsed(served: Served, labels: str, fields: str) -> Selection:
    try:
        by_label = label_selector.parse(labels) if labels else label_selector.EVERYTHING
        by_field = field_selector.parse(fields) if fields else field_selector.EVERYTHING
    except (label_selector.LabelSelectorError, field_selector.FieldSelectorError) as error:
        raise bad_request(str(error)) from None
    strategy = served.type.strategy
    for term in by_field.terms:
        known = term.field in strategy.selectable or term.field in strategy.selected_as
        if not known and term.field not in ("metadata.name", "metadata.namespace"):
            raise bad_request(_unsupported(served, term.field))
    if not by_field.terms:
        if by_label.matches_everything:
            return Selection(None)
        return Selection(lambda item: by_label.matches(item.index.labels), label=_required(by_label))
    name = by_field.required_value("metadata.name") or ""
    if by_label.matches_everything:
        return Selection(lambda item: by_field.matches_with(_lookup(item, strategy.selected_as)), name)
    return Selection(
        lambda item: by_label.matches(item.index.labels) and by_field.matches_with(_lookup(item, strategy.selected_as)),
        name,
        _required(by_label),
    )


def _required(selector: label_selector.Selector) -> Label | None:
    """A label that everything has that the selector matches."""
    required = selector.required_label()
    return None if required is None else Label(*required)


def _lookup(item: Item, stored_as: Mapping[str, str]) -> Callable[[str], str]:
    def value(field: str) -> str:
        if field == "metadata.name":
            return item.name
        if field == "metadata.namespace":
            return item.namespace
        return item.index.fields.get(stored_as.get(field, field), "")

    return value


def _unsupported(served: Served, field: str) -> str:
    strategy = served.type.strategy
    if strategy.selectable or strategy.selected_as or served.type.custom:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
