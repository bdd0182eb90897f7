"""docs/production.md from top to bottom in one go: its commands as they stand, with real kubectl, Helm and etcdctl, on
clusters whose pods are processes; after a block of commands, what should then be so is looked at.

Left to the test are what a cloud and a storage do: the load balancer, and carrying a restored directory into a volume.
"""

import shutil
from collections import Counter
from pathlib import Path

from tests.docs.production import BLOCKS, CHART, INIT, OPERATOR, blocks
from tests.docs.symptoms import of_host

from .walk import AS_WRITTEN, SPACE, Walk, walking

OWN = ("karmada-aggregated-apiserver", "karmada-controller-manager", "karmada-scheduler", "karmada-webhook")
SEVERAL = {**dict.fromkeys(OWN, 2), "etcd": 3, "karmada-apiserver": 3, "kube-controller-manager": 2}
EVERYTHING = Counter(SEVERAL if AS_WRITTEN else dict.fromkeys(SEVERAL, 1))
"""What the chart starts, and how many of each."""
ADDONS = {
    *("karmada-dashboard", "karmada-descheduler", "karmada-metrics-adapter"),
    *("karmada-scheduler-estimator-member3", "karmada-search"),
}
HUB = "kubectl --kubeconfig karmada.config"
SPECIFICATIONS = f"kubectl -n {SPACE} get deployments,statefulsets -o jsonpath='{{.items[*].spec}}'"


async def after_helm(walk: Walk) -> None:
    await walk.balance()
    walk.notes["specifications"] = await walk.said(CHART, SPECIFICATIONS)


async def after_plain_manifests(walk: Walk) -> None:
    assert await walk.said(CHART, SPECIFICATIONS) == walk.notes["specifications"]


async def after_filling(walk: Walk) -> None:
    await walk.until(lambda: walk.programs(CHART) == EVERYTHING)
    await look_into(walk, CHART)


async def look_into(walk: Walk, host: str) -> None:
    """Type what docs/operations.md has for symptoms of a host cluster."""
    for command in of_host(host):
        assert await walk.said(host, command)


async def after_joining(walk: Walk) -> None:
    modes = await walk.said(CHART, f"{HUB} get clusters -o jsonpath='{{.items[*].spec.syncMode}}'")
    assert modes == "Push Pull"
    await walk.until(lambda: walk.programs("member2") == {"karmada-agent": 1})


async def after_spreading(walk: Walk) -> None:
    assert [len(await walk.pods(name)) for name in ("member1", "member2")] == [2, 2]
    walk.notes["pods"] = " ".join(await walk.pods("member1") + await walk.pods("member2"))


async def after_init(walk: Walk) -> None:
    await walk.until(lambda: walk.programs(INIT) == {"karmada-apiserver": 1, **dict.fromkeys(OWN, 1)})


async def after_enabling(walk: Walk) -> None:
    await walk.until(lambda: walk.programs(INIT).keys() == {"karmada-apiserver", *OWN, *ADDONS})
    await look_into(walk, INIT)


async def after_deinit(walk: Walk) -> None:
    await walk.until(lambda: not walk.programs(INIT))


async def after_ordering(walk: Walk) -> None:
    named = ("etcd", "karmada-apiserver", "karmada-scheduler")
    wanted = Counter({"karmada-operator": 1, **{name: EVERYTHING[name] for name in named}})
    await walk.until(lambda: wanted <= walk.programs(OPERATOR))
    await look_into(walk, OPERATOR)


async def after_deleting(walk: Walk) -> None:
    await walk.until(lambda: walk.programs(OPERATOR) == {"karmada-operator": 1})


async def after_renewing(walk: Walk) -> None:
    await walk.until(lambda: walk.programs(CHART) == EVERYTHING)
    await walk.said(CHART, f"{HUB} get --raw /readyz")


async def after_upgrading(walk: Walk) -> None:
    images = await walk.said(CHART, f"kubectl -n {SPACE} get pods -o jsonpath='{{.items[*].spec.containers[0].image}}'")
    assert Counter(images.split())[f"registry.example.com/karmada:{walk.version}"] == sum(
        EVERYTHING[name] for name in OWN
    )
    await untouched(walk)


async def untouched(walk: Walk) -> None:
    """The workload in members is as it was: no pod of it was replaced."""
    assert " ".join(await walk.pods("member1") + await walk.pods("member2")) == walk.notes["pods"]


async def after_the_snapshot(walk: Walk) -> None:
    await walk.said(CHART, f"{HUB} create configmap later")


async def after_making_directories(walk: Walk) -> None:
    for number in range(EVERYTHING["etcd"]):
        volume = walk.claim(CHART, f"data-etcd-{number}")
        shutil.rmtree(volume / "data")
        shutil.move(walk.folder / "restored" / f"etcd-{number}" / "data", volume / "data")


async def after_restoring(walk: Walk) -> None:
    assert await walk.said(CHART, f"{HUB} get configmaps --field-selector metadata.name=later -o name") == ""
    await untouched(walk)
    await walk.said(CHART, f"{HUB} scale deployment/web --replicas=6")
    await walk.said(CHART, f"{HUB} wait deployment/web --for=jsonpath='{{.status.readyReplicas}}'=6 --timeout=5m")
    assert [len(await walk.pods(name)) for name in ("member1", "member2")] == [3, 3]


async def after_removing(walk: Walk) -> None:
    await walk.until(lambda: not walk.programs(CHART))
    assert len(await walk.pods("member1")) == 3


CHECKS = {
    "helm install ": after_helm,
    "echo ": after_plain_manifests,
    "kubectl -n karmada-system rollout status deployment/karmada-apiserver ": after_filling,
    "karmadactl --kubeconfig karmada.config join ": after_joining,
    "kubectl --kubeconfig karmada.config apply -f web.yaml": after_spreading,
    "karmadactl init ": after_init,
    "karmadactl addons enable ": after_enabling,
    "karmadactl addons disable ": after_deinit,
    "kubectl wait crd/karmadas.operator.karmada.io ": after_ordering,
    "kubectl -n karmada-system delete karmada/": after_deleting,
    "karmadactl certs check": after_renewing,
    "helm upgrade ": after_upgrading,
    "kubectl -n karmada-system port-forward ": after_the_snapshot,
    "kubectl -n karmada-system scale deployment karmada-apiserver karmada-aggregated-apiserver --replicas=0": (
        after_making_directories
    ),
    "kubectl -n karmada-system scale statefulset etcd --replicas=3": after_restoring,
    "helm uninstall ": after_removing,
}
"""What is looked at after a block; those that are missing are seen by the next one."""


async def test_the_page_works_from_top_to_bottom(tmp_path: Path) -> None:
    assert CHECKS.keys() <= {block.begins for block in BLOCKS}
    async with walking(tmp_path) as walk:
        for block, text in zip(BLOCKS, blocks(), strict=True):
            if block.not_run:
                continue
            await walk.said(block.host, text)
            if check := CHECKS.get(block.begins):
                await check(walk)
    assert not walk.left()
