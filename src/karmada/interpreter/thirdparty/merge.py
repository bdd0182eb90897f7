"""Statuses of members put together by a table: for each field of the status the rule that merges it.

A rule takes the reports and the name of its field and gives the value, None for a field that is not there then.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from karmada.api.codec import DecodeError, tree
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.thirdparty.values import (
    before,
    entries,
    find,
    get,
    given,
    number,
    parsed,
    plain,
    same,
    text,
    union,
)


class Member(NamedTuple):
    """What one cluster reports; `status` is None when it reports nothing."""

    cluster: str
    status: Any


class Reports(NamedTuple):
    """What there is to merge: the template, the status it has, and what the members report."""

    template: JSONObject
    present: JSONObject
    members: Sequence[Member]

    def statuses(self) -> list[Any]:
        return [member.status for member in self.members if member.status is not None]

    def values(self, field: str) -> list[Any]:
        """What the clusters that have the field have in it."""
        return [value for status in self.statuses() if (value := get(status, field)) is not None]


Rule = Callable[[Reports, str], Any]
Aggregate = Callable[[JSONObject, Sequence[AggregatedStatusItem]], JSONObject]


class _Kept:
    """Stands for what the template's status has."""


KEPT = _Kept()


def aggregation(
    table: Mapping[str, Rule],
    *,
    fresh: bool = False,
    alone: bool = False,
    finish: Callable[[JSONObject], JSONObject | None] | None = None,
) -> Aggregate:
    """Merge by a table, onto the status that the template has or a `fresh` one.

    `alone`: the status of a single cluster is taken as it is. `finish` has the last word on what is merged.
    """

    def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        members = [Member(item.cluster_name, _status(item)) for item in items]
        if alone and len(members) == 1:
            return {**template, "status": members[0].status}
        present = {} if fresh else _present(template)
        reports = Reports(template, present, members)
        merged = {**present, **{field: rule(reports, field) for field, rule in table.items()}}
        status = {field: value for field, value in merged.items() if value is not None}
        return {**template, "status": finish(status) if finish else status}

    return aggregate


def _status(item: AggregatedStatusItem) -> Any:
    try:
        return plain(tree(item.status))
    except DecodeError as error:
        raise InterpretError(f"status of {item.cluster_name}: {error}") from error


def _present(template: JSONObject) -> JSONObject:
    status = template.get("status", {})
    if status == []:
        return {}
    if not isinstance(status, dict):
        raise InterpretError("the status of the template is not an object")
    return status


def total(reports: Reports, field: str) -> Any:
    """The sum of what the clusters report."""
    return sum(number(value) for value in reports.values(field))


def loose_total(reports: Reports, field: str) -> Any:
    """The same, except that false counts nothing."""
    return sum(number(given(value, 0)) for value in reports.values(field))


def totals(*fields: str, rule: Rule = total) -> dict[str, Rule]:
    """Several counters."""
    return dict.fromkeys(fields, rule)


def quantity(reports: Reports, field: str) -> Any:
    """The sum of amounts."""
    found = Quantity.parse("0")
    for value in _filled(reports.values(field)):
        if not isinstance(value, str):
            raise InterpretError(f"{field} is {value!r}, not an amount")
        try:
            found = found + Quantity.parse(value)
        except QuantityError as error:
            raise InterpretError(f"{field}: {error}") from error
    return str(found)


def spelled_total(reports: Reports, field: str) -> Any:
    """The sum of numbers that are written as text."""
    return text(sum(number(parsed(value)) for value in _filled(reports.values(field))))


def last(default: Any = None) -> Rule:
    """What the last cluster that reports anything reports."""
    return lambda reports, field: _last(reports.values(field), default, reports, field)


def last_filled(default: Any = None) -> Rule:
    """The same among those that report more than empty text."""
    return lambda reports, field: _last(_filled(reports.values(field)), default, reports, field)


def first(default: Any = None) -> Rule:
    """What the first cluster that reports anything reports."""
    return lambda reports, field: _last(reports.values(field)[:1], default, reports, field)


def _last(values: list[Any], default: Any, reports: Reports, field: str) -> Any:
    if values:
        return values[-1]
    return reports.present.get(field) if default is KEPT else default


def of_last(reports: Reports, field: str) -> Any:
    """What the last cluster that reports a status has there, be it nothing."""
    statuses = reports.statuses()
    return get(statuses[-1], field) if statuses else None


def _filled(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value != ""]


def latest(reports: Reports, field: str) -> Any:
    """The greatest value: of times the latest."""
    return _extreme(reports.values(field), lambda value, found: before(found, value))


def latest_filled(reports: Reports, field: str) -> Any:
    """The same, except that empty text is no value."""
    return _extreme(_filled(reports.values(field)), lambda value, found: before(found, value))


def latest_true(reports: Reports, field: str) -> Any:
    """The same, except that neither empty text nor false is a value."""
    known = [value for value in _filled(reports.values(field)) if value is not False]
    return _extreme(known, lambda value, found: before(found, value))


def earliest(reports: Reports, field: str) -> Any:
    """The least value."""
    return _extreme(reports.values(field), before)


def earliest_filled(reports: Reports, field: str) -> Any:
    """The same, except that empty text is no value."""
    return _extreme(_filled(reports.values(field)), before)


def _extreme(values: list[Any], better: Callable[[Any, Any], bool]) -> Any:
    found = None
    for value in values:
        if found is None or better(value, found):
            found = value
    return found


def largest(reports: Reports, field: str) -> Any:
    """The greatest number, at least zero."""
    return max([0, *(number(given(value, 0)) for value in reports.values(field))])


def joined(reports: Reports, field: str) -> Any:
    """The lists of all clusters, one after the other."""
    return [entry for value in reports.values(field) for entry in entries(value)]


def united(reports: Reports, field: str) -> Any:
    """The parts of all clusters' objects; of equal names the last counts."""
    return union(reports.values(field))


def worst(ranks: Mapping[str, int], values: Iterable[Any], state: Callable[[Any], Any]) -> Any:
    """The first of those whose state ranks highest; states without a rank are the lowest."""
    return max(
        values, key=lambda value: ranks.get(state(value), 0) if isinstance(state(value), str) else 0, default=None
    )


def ranked(ranks: Mapping[str, int], by: str, *, filled: bool = False) -> Rule:
    """What the cluster has there whose field `by` ranks highest."""

    def rule(reports: Reports, field: str) -> Any:
        able = [status for status in reports.statuses() if get(status, by) is not None]
        able = [status for status in able if get(status, by) != ""] if filled else able
        return find(worst(ranks, able, lambda status: get(status, by)), field)

    return rule


def observed_generation(reports: Reports, field: str) -> Any:
    """The template's generation once every cluster has caught up with it, else what was observed before."""
    return _observed(reports, field, silent={})


def observed_generation_of_all(reports: Reports, field: str) -> Any:
    """The same, except that a cluster without a status has never caught up."""
    return _observed(reports, field, silent=None)


def _observed(reports: Reports, field: str, silent: Any) -> Any:
    generation = _or_zero(get(reports.template, "metadata", "generation"))
    known = [silent if member.status is None else member.status for member in reports.members]
    if all(_has_caught_up(status, generation) for status in known):
        return generation
    return _or_zero(reports.present.get(field))


def _has_caught_up(status: Any, generation: Any) -> bool:
    if status is None:
        return False
    fields = ("resourceTemplateGeneration", "generation", "observedGeneration")
    template, own, seen = (_or_zero(get(status, field)) for field in fields)
    return same(template, generation) and same(own, seen)


def _or_zero(value: Any) -> Any:
    return 0 if value is None else value


def named_conditions(reports: Reports, field: str) -> Any:
    """Conditions that agree are one; its message names each cluster."""
    merged: list[JSONObject] = []
    for member in reports.members:
        for condition in entries(find(member.status, field)):
            message = f"{member.cluster}={text(get(condition, 'message'))}"
            known = next((one for one in merged if _agree(one, condition)), None)
            if known is None:
                merged.append({**condition, "message": message})
            else:
                known["message"] += f", {message}"
    return merged


def _agree(one: JSONObject, other: JSONObject) -> bool:
    return all(same(one.get(field), other.get(field)) for field in ("type", "status", "reason"))


def filled(tree: Any, *, zeros: bool) -> Any:
    """The tree without empty parts, and without zeros unless they are wanted; None when nothing is left."""
    if isinstance(tree, dict):
        return {key: part for key, value in tree.items() if (part := filled(value, zeros=zeros)) is not None} or None
    if isinstance(tree, list):
        return _filled_list(tree, zeros) or None
    return None if not zeros and (same(tree, 0) or tree in ("", "0s")) else tree


def _filled_list(tree: list[Any], zeros: bool) -> list[Any]:
    kept = [filled(entry, zeros=zeros) for entry in tree]
    while kept and kept[-1] is None:
        kept.pop()
    if None in kept:
        raise InterpretError("an entry of a list is empty")
    return kept
