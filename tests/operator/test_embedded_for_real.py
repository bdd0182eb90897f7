"""The operator as a pod of a simulated host whose pods are processes, and the flavour without etcd that it makes."""

from pathlib import Path
from typing import Any

from tests.operator.site import ADDED, KARMADAS, SPACE, available, eventually, host_with_operator

KARMADA: dict[str, Any] = {
    "apiVersion": "operator.karmada.io/v1alpha1",
    "kind": "Karmada",
    "metadata": {"name": "demo", "namespace": SPACE, "annotations": {"operator.karmada.io/flavour": "embedded"}},
    "spec": {"components": {"etcd": {}, "karmadaMetricsAdapter": {"replicas": 1}, "karmadaSearch": {}}},
}
PROGRAMS = [
    "karmada-aggregated-apiserver",
    "karmada-apiserver",
    "karmada-controller-manager",
    "karmada-metrics-adapter",
    "karmada-operator",
    "karmada-scheduler",
    "karmada-search",
    "karmada-webhook",
]


async def test_a_karmada_object_becomes_a_control_plane_and_its_deletion_leaves_nothing(tmp_path: Path) -> None:
    async with host_with_operator(tmp_path) as site:
        await site.order(KARMADA)
        karmada = await site.ready("demo")
        assert site.programs() == PROGRAMS
        status = karmada["status"]
        assert status["secretRef"] == {"namespace": SPACE, "name": "demo-karmada-admin-config"}
        assert status["apiServerService"] == {"name": "demo-karmada-apiserver"}
        hub = await site.hub(karmada)
        try:
            assert await available(hub) >= ADDED
            await site.join(hub)
            await site.spread(hub)
            fewer = {"spec": {"components": {"karmadaMetricsAdapter": None, "karmadaSearch": None}}}
            changed = await site.host.resource(KARMADAS).patch("demo", fewer, SPACE)
            await site.ready("demo", changed["metadata"]["generation"])
            assert not await available(hub) & ADDED

            async def gone() -> bool:
                return not {"karmada-metrics-adapter", "karmada-search"} & set(site.programs())

            await eventually(gone)
        finally:
            await hub.close()
        await site.removed("demo")
        assert await site.made("demo") == []
