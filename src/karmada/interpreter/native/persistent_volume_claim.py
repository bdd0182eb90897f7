"""PersistentVolumeClaim."""

from collections.abc import Sequence
from typing import ClassVar

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.persistent_volume import PersistentVolume, Status
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import ensure, mapping, status_of, text, view


class ClaimStatus(Status, frozen=True, kw_only=True):
    """The same of a claim."""

    TYPE: ClassVar[str] = "core.PersistentVolumeClaimStatus"


_BOUND, _LOST = "Bound", "Lost"


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain, aggregate=aggregate, health=is_healthy)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member binds the claim to a volume, of its default class where the claim names none; neither can change."""
    actual = mapping(observed, "spec") or {}
    if volume := text(actual, "volumeName"):
        ensure(desired, "spec")["volumeName"] = volume
    storage_class = actual.get("storageClassName")
    wanted = desired.get("spec")
    if isinstance(storage_class, str) and isinstance(wanted, dict) and wanted.get("storageClassName") is None:
        wanted["storageClassName"] = storage_class
    return desired


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, PersistentVolume)
    phase = _BOUND
    for item in items:
        member = status_of(item, ClaimStatus)
        if member is not None and member.phase != _BOUND:
            phase = member.phase
        if phase == _LOST:
            break
    template["status"] = {"phase": phase} if phase else {}
    return template


def is_healthy(observed: JSONObject) -> bool:
    return view(observed, PersistentVolume).status.phase == _BOUND
