"""The controllers that act on a binding, from its template to the objects in members."""

from dataclasses import dataclass
from typing import Any

from karmada.controllers.binding import BindingController
from karmada.controllers.binding_status import BindingStatusController
from karmada.controllers.bindings import BindingKey
from karmada.controllers.detector.detector import Detector
from karmada.controllers.detector.policy_index import TemplateKey
from karmada.controllers.drift import ObjectKey
from karmada.controllers.execution import ExecutionController
from karmada.controllers.resumption.group import Group
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.templates import Templates
from karmada.controllers.work_status import WorkStatusController
from karmada.machinery.controller import Controller
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.transport import JSONObject
from karmada.membership.members import Members


@dataclass(slots=True)
class Parts:
    """Filled as the controllers are made; those that are not wanted stay None."""

    templates: Templates
    members: Members
    reporter: StatusReporter | None
    detector: Detector | None = None
    binding: BindingController | None = None
    binding_status: BindingStatusController | None = None
    execution: ExecutionController | None = None
    work_status: WorkStatusController | None = None

    def complete(self) -> "Controllers | None":
        """All of them; None where one is missing, whose work nobody knows then."""
        found = (self.reporter, self.detector, self.binding, self.binding_status, self.execution, self.work_status)
        reporter, detector, binding, binding_status, execution, work_status = found
        if not (reporter and detector and binding and binding_status and execution and work_status):
            return None
        return Controllers(
            self.templates, self.members, reporter, detector, binding, binding_status, execution, work_status
        )


@dataclass(frozen=True, slots=True)
class Controllers:
    """What is under way about groups, and how to have one left alone."""

    templates: Templates
    members: Members
    reporter: StatusReporter
    detector: Detector
    binding: BindingController
    binding_status: BindingStatusController
    execution: ExecutionController
    work_status: WorkStatusController

    def hold(self) -> None:
        """Nobody takes keys that only the first load found."""
        for controller in self._all():
            controller.queue.hold()

    def release(self) -> None:
        """They may be taken."""
        for controller in self._all():
            controller.queue.release()

    @property
    def waiting(self) -> int:
        """How many keys nobody works on yet."""
        return sum(len(controller.queue) for controller in self._all())

    def is_pending(self, key: BindingKey, group: Group, works: list[Key]) -> bool:
        """Whether anything about a group is under way or due."""
        return (
            self.binding.controller.queue.is_pending(key)
            or self.binding_status.controller.queue.is_pending(key)
            or self.detector.templates.queue.is_pending(_template(key, group))
            or any(self.execution.controller.queue.is_pending(work) for work in works)
            or any(self.work_status.controller.queue.is_pending(work) for work in works)
        )

    def is_reported(self, at: Item[Any], which: ObjectKey, copy: Item[JSONObject]) -> bool:
        """Whether an object in a member is known to be as its Work says, in the state that its Work reports."""
        return self.execution.versions.is_noted(which, copy.resource_version, at.key) and self.reporter.is_last(
            at.key, at.uid, [copy.resource_version]
        )

    def settle(self, key: BindingKey, group: Group) -> None:
        """What the first load found of a binding is as it was left."""
        self.detector.withdraw(_template(key, group))
        self.detector.settled.add(Key(*key))
        self.binding.controller.queue.withdraw(key)
        self.binding_status.controller.queue.withdraw(key)

    def settle_work(self, work: Item[Any], which: ObjectKey, copy: Item[JSONObject]) -> None:
        """The same of a Work: what it says of an object in a member is known as if it had been written just now."""
        self.execution.versions.note(which, copy.resource_version, work.key)
        self.reporter.resume(work.key, work.uid, [copy.resource_version])
        self.execution.controller.queue.withdraw(work.key)
        self.work_status.controller.queue.withdraw(work.key)

    def _all(self) -> tuple[Controller[Any], ...]:
        others = (self.binding, self.binding_status, self.execution, self.work_status)
        return self.detector.templates, self.detector.policies, *(other.controller for other in others)


def _template(key: BindingKey, group: Group) -> TemplateKey:
    return TemplateKey(group.type, group.api_version, group.kind, key.namespace, group.name)
