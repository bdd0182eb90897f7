"""The controller of Karmada objects: finalizer, validation, passes over instances, and what the status says of them."""

import datetime

from msgspec import structs

from karmada.api.finalizers import KARMADA as FINALIZER
from karmada.api.labels import DISABLE_CASCADING_DELETION as KEEP
from karmada.api.meta import Condition, set_condition
from karmada.api.operator.v1alpha1 import APIServerService, Karmada, KarmadaStatus, LocalSecretReference
from karmada.api.version import VERSION
from karmada.controllers.objects import without_finalizer
from karmada.install.naming import Names
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry, own_key
from karmada.machinery.errors import ApiError
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.operator.host import Host, Refused
from karmada.operator.instance import Filled, Instance, Open, Outcome
from karmada.operator.settings import SERVER
from karmada.operator.validation import problems

READY = "Ready"
SOON, RESYNC = 1.0, 300.0
"""Seconds until an instance is looked at again that is on its way, and one that is as it should be."""
DEADLINE = 120.0
NOTHING = Outcome()


class Operator:
    """Reconciles Karmada objects."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        recorder: EventRecorder,
        open_: Open,
        image: str,
        clock: Clock = REAL,
    ) -> None:
        self._client = client
        self._open = open_
        self._image = image
        self._clock = clock
        self._recorder = recorder
        self._filled: Filled = {}
        self._karmadas = informers.of(Karmada)
        self._commit: Committer[Karmada] = Committer(client.of(Karmada))
        self.controller: Controller[Key] = Controller(
            "karmada-operator-controller", self.reconcile, needs=[self._karmadas], deadline=DEADLINE, clock=clock
        )
        self.controller.watch(self._karmadas, own_key)

    async def reconcile(self, key: Key) -> Result:
        """Bring one instance nearer to what its object says."""
        karmada = self._karmadas.get(key.name, key.namespace)
        if karmada is None or karmada.spec.suspend:
            return DONE
        if karmada.metadata.deletion_timestamp is not None:
            return await self._remove(karmada)
        await self._commit.commit(karmada, _claimed)
        if wrong := problems(karmada):
            text = f"validation errors: [{', '.join(wrong)}]"
            self._recorder.event(ObjectReference.to(karmada), "Warning", "ValidationError", text)
            await self._say(karmada, "False", "ValidationError", text)
            return DONE
        try:
            outcome = await self._instance(karmada).advance()
        except Refused as error:
            await self._say(karmada, "False", "Failed", str(error))
            return RequeueAfter(RESYNC / 10)
        except ApiError as error:
            await self._say(karmada, "False", "Failed", str(error))
            return Retry(error)
        if outcome.waiting:
            await self._say(karmada, "False", "Progressing", f"waiting for {outcome.waiting}", outcome)
            return RequeueAfter(SOON)
        await self._say(karmada, "True", "Completed", "karmada init job is completed", outcome)
        return RequeueAfter(RESYNC)

    async def _remove(self, karmada: Karmada) -> Result:
        if FINALIZER not in karmada.metadata.finalizers:
            return DONE
        if karmada.metadata.labels.get(KEEP, "false") == "false" and not await self._instance(karmada).remove():
            return RequeueAfter(SOON)
        await self._commit.commit(karmada, without_finalizer(FINALIZER))
        return DONE

    def _instance(self, karmada: Karmada) -> Instance:
        host = Host(self._client, karmada.metadata.namespace, karmada.metadata.name)
        now = datetime.datetime.fromtimestamp(self._clock.now(), datetime.UTC)
        return Instance(karmada, host, self._image, self._open, now, self._filled)

    async def _say(self, karmada: Karmada, status: str, reason: str, text: str, outcome: Outcome = NOTHING) -> None:
        """Write the status; an unchanged one is not written."""
        names, about = Names(karmada.metadata.name), karmada.metadata
        now = rfc3339(self._clock.now())

        def decide(seen: Karmada) -> Karmada:
            old = seen.status
            condition = Condition(
                type=READY,
                status=status,
                reason=reason,
                message=text,
                last_transition_time=now,
                observed_generation=about.generation,
            )
            made = KarmadaStatus(
                observed_generation=about.generation,
                conditions=set_condition(old.conditions, condition),
                secret_ref=old.secret_ref,
                api_server_service=old.api_server_service,
                karmada_version=old.karmada_version,
                kubernetes_version=outcome.version or old.kubernetes_version,
            )
            if status == "True":
                admin = LocalSecretReference(namespace=about.namespace, name=names.of("karmada-admin-config"))
                service = APIServerService(name=names.of(SERVER))
                made = structs.replace(
                    made, secret_ref=admin, api_server_service=service, karmada_version=f"v{VERSION}"
                )
            return structs.replace(seen, status=made)

        await self._commit.commit(karmada, decide)


def _claimed(karmada: Karmada) -> Karmada:
    """An object that does not go before its instance has."""
    about = karmada.metadata
    finalizers = about.finalizers if FINALIZER in about.finalizers else (*about.finalizers, FINALIZER)
    labels = about.labels if KEEP in about.labels else {**about.labels, KEEP: "false"}
    if finalizers is about.finalizers and labels is about.labels:
        return karmada
    return structs.replace(karmada, metadata=structs.replace(about, finalizers=finalizers, labels=labels))
