"""Admission inside the embedded API server changes no more of an object than a webhook could."""

from tests.controllers.plane import CRDS

from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.admission import KarmadaAdmission
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.webhook.lookup import ClientLookup

AUTOSCALERS = GroupVersionResource("autoscaling.karmada.io", "v1alpha1", "federatedhpas")


def test_an_autoscaler_without_a_status_can_be_updated():
    """The handler completes the status as well, with a null that its schema does not allow."""

    async def scenario():
        clock, lookup = VirtualClock(), ClientLookup()
        options = ApiServerOptions(admission=[KarmadaAdmission(lookup, DEFAULTS)], now=clock.now)
        async with ApiServer(options) as hub:
            client = lookup.client = Client(hub.direct(ADMIN))
            for crd in definitions():
                await client.resource(CRDS).create(crd)
            await clock.sleep(1)
            target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
            tree = {"metadata": {"name": "f", "namespace": "default"}}
            tree["spec"] = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3}
            autoscalers = client.resource(AUTOSCALERS)
            await autoscalers.create(tree)
            updated = await autoscalers.patch("f", {"spec": {"maxReplicas": 9}}, "default")
            assert updated["spec"]["maxReplicas"] == 9
            assert "status" not in updated

    run_virtual(scenario)
