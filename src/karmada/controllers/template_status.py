"""Aggregates what clusters report into their template; a status that no rule can read costs only its own cluster."""

from collections.abc import Callable, Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import Interpreter, InterpretError, JSONObject

Unreadable = dict[str, InterpretError]
"""Clusters whose status no rule can read, and why."""


async def aggregated_status(
    interpreter: Interpreter, template: Callable[[], JSONObject], items: Sequence[AggregatedStatusItem]
) -> tuple[JSONObject, Unreadable]:
    """The template with its status, of all clusters or of those whose status can be read; an error if that is none.

    Interpreters may change what they are given: `template` decodes it anew for each question. Customised rules are
    asked once only: a webhook that does not answer, or a slow script, would cost its time for each cluster.
    """
    try:
        return await interpreter.aggregate(template(), items), {}
    except InterpretError as error:
        unreadable = {} if error.source else await _unreadable(interpreter, template, items)
        if len(unreadable) in (0, len(items)):
            raise
    readable = [item for item in items if item.cluster_name not in unreadable]
    return await interpreter.aggregate(template(), readable), unreadable


async def _unreadable(
    interpreter: Interpreter, template: Callable[[], JSONObject], items: Sequence[AggregatedStatusItem]
) -> Unreadable:
    """The clusters whose status cannot be aggregated by itself."""
    found: Unreadable = {}
    for item in items:
        try:
            await interpreter.aggregate(template(), [item])
        except InterpretError as error:
            found[item.cluster_name] = error
    return found
