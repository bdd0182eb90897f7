"""PersistentVolume."""

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import field

from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import Metadata, View, ensure, mapping, status_of, view

_PHASES = ("Failed", "Pending", "Available", "Bound", "Released")
"""The first of these that a member reports is the phase of all."""


class Status(View, frozen=True, kw_only=True):
    """Whether it is in use."""

    TYPE: ClassVar[str] = "core.PersistentVolumeStatus"

    phase: str = ""


class PersistentVolume(View, frozen=True, kw_only=True):
    """A PersistentVolume or a claim to one."""

    metadata: Metadata = Metadata()
    spec: dict[str, Any] = field(default_factory=dict)
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain, aggregate=aggregate)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member binds the volume to a claim."""
    actual = mapping(observed, "spec") or {}
    if "claimRef" in actual:
        ensure(desired, "spec")["claimRef"] = actual["claimRef"]
    return desired


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, PersistentVolume)
    found = [status_of(item, Status) for item in items]
    phases = {"Pending" if member is None else member.phase for member in found}
    phase = next((phase for phase in _PHASES if phase in phases), "")
    template["status"] = {"phase": phase} if phase else {}
    return template
