"""PersistentVolumeClaim."""

from collections.abc import Sequence

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.persistent_volume import PersistentVolume, Status
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import ensure, mapping, statuses, text, view

_BOUND, _LOST = "Bound", "Lost"


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain, aggregate=aggregate, health=is_healthy)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member binds the claim to a volume."""
    if volume := text(mapping(observed, "spec") or {}, "volumeName"):
        ensure(desired, "spec")["volumeName"] = volume
    return desired


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, PersistentVolume)
    phases = [member.phase for member in statuses(items, Status)]
    unbound = [phase for phase in phases if phase != _BOUND]
    phase = _LOST if _LOST in unbound else unbound[-1] if unbound else _BOUND
    template["status"] = {"phase": phase} if phase else {}
    return template


def is_healthy(observed: JSONObject) -> bool:
    return view(observed, PersistentVolume).status.phase == _BOUND
