"""Starts the controllers of the control plane that are selected and whose gates are on."""

from typing import Any

from karmada.controllers.context import Context
from karmada.controllers.registry import CONTROLLERS, TEMPLATES, Registration, Shared
from karmada.controllers.resumption.group import Records
from karmada.controllers.resumption.resumption import Resumption
from karmada.controllers.selection import Selection
from karmada.machinery.controller import Controller
from karmada.machinery.options import Options
from karmada.machinery.sharding.ownership import Ownership
from karmada.machinery.supervisor import Supervisor
from karmada.membership.members import Members


class ControllerManager:
    """The controllers of one process."""

    def __init__(
        self,
        context: Context,
        members: Members,
        selection: Selection | None = None,
        options: Options | None = None,
        readable: Members | None = None,
        records: Records | None = None,
    ) -> None:
        """`records`: where is kept over a restart what it need not look at."""
        self._gates = context.gates
        self._selection = selection or Selection()
        self._shared = Shared(context, members, self._selection, options or Options(), readable, records)
        self.resumption: Resumption | None = None
        """Knows what a restart need not look at, if all that has to be known is."""

    def start(self, supervisor: Supervisor) -> list[Controller[Any]]:
        """Start every wanted controller, each restarted on its own when it dies; returns those with work queues."""
        started = [controller for each in self._wanted() for controller in self._start(each, supervisor)]
        records, acting = self._shared.records, self._shared.parts.complete()
        if records is not None and acting is not None:
            self.resumption = Resumption(self._shared.context, acting, records)
            supervisor.start("resumption", self.resumption.run)
        return started

    def start_divided(self, supervisor: Supervisor, ownership: Ownership) -> list[Controller[Any]]:
        """Start the controllers whose keys are divided between replicas, and what they read."""
        self._shared.ownership = ownership
        supervisor.start(TEMPLATES, self._shared.templates.run)
        started = []
        for registered in self._wanted():
            if registered.divide is not None:
                for controller in self._start(registered, supervisor):
                    registered.divide(self._shared.context, controller, ownership)
                    started.append(controller)
        return started

    def start_undivided(self, supervisor: Supervisor) -> list[Controller[Any]]:
        """Start the others, in the replica that holds the first shard."""
        undivided = [each for each in self._wanted() if each.divide is None]
        return [controller for each in undivided for controller in self._start(each, supervisor)]

    def _wanted(self) -> list[Registration]:
        return [each for each in CONTROLLERS if each.wanted(self._selection, self._gates)]

    def _start(self, registered: Registration, supervisor: Supervisor) -> list[Controller[Any]]:
        started = []
        for name, part in registered.build(self._shared):
            if isinstance(part, Controller):
                supervisor.start(name, part.run)
                started.append(part)
            elif name != TEMPLATES or self._shared.ownership is None:
                supervisor.start(name, part)
        return started
