"""Command lines of components."""

from collections.abc import Callable
from pathlib import Path

import pytest

from karmada.agent.main import parser as agent
from karmada.aggregated.main import parser as aggregated
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.context import Concurrency
from karmada.controllers.detector.scope import ScopeOptions
from karmada.controllers.flags import options_of, parser, without_effect
from karmada.descheduler.main import parser as descheduler
from karmada.estimator.main import parser as estimator
from karmada.machinery.component import run_component
from karmada.machinery.flags import FlagParser
from karmada.scheduler.main import parser as scheduler
from karmada.webhook.main import parser as webhook


def complaint(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as ended:
        parser().parse(argv)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1].removeprefix("karmada-controller-manager: error: ")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--leader-elekt", "unknown flag: --leader-elekt; did you mean --leader-elect?"),
        ("--qwertz=1", "unknown flag: --qwertz; karmada-controller-manager --help lists all flags"),
        ("up", "unexpected argument 'up': karmada-controller-manager takes flags only"),
        (
            "--cluster-monitor-period=5",
            'argument --cluster-monitor-period: time: missing unit in duration "5"; '
            "write a number with a unit, such as 10s or 1m30s",
        ),
        ("--leader-elect=maybe", "argument --leader-elect: 'maybe' is neither true nor false"),
        ("--controllers=bindng", 'argument --controllers: there is no controller "bindng": did you mean binding?'),
        (
            "--feature-gates=Failovr=true",
            "argument --feature-gates: unrecognized feature gate: Failovr; did you mean Failover?",
        ),
    ],
    ids=["typo", "unknown", "argument", "duration", "boolean", "controller", "gate"],
)
def test_mistakes_are_refused_with_a_hint(capsys: pytest.CaptureFixture[str], argument: str, message: str) -> None:
    assert complaint(capsys, argument) == message


def test_the_command_line_of_older_manifests_is_understood() -> None:
    flags = parser().parse(
        [
            "--kubeconfig=/etc/karmada/karmada.kubeconfig",
            "--bind-address=0.0.0.0",
            "--cluster-status-update-frequency=20s",
            "--secure-port=10357",
            "--leader-elect=true",
            "--leader-elect-resource-namespace=karmada-system",
            "--logtostderr=true",
            "--v=4",
        ]
    )
    assert options_of(flags).options.of(StatusOptions).period == 20
    assert flags.verbosity == 4


def test_flags_say_what_controllers_do() -> None:
    flags = parser().parse(
        [
            "--controllers=*,-namespace",
            "--feature_gates=Failover=true",
            "--concurrent-resourcebinding-syncs=7",
            "--skipped-propagating-namespaces=kube-.*,private-.*",
            "--skipped-propagating-apis=apps/v1/Deployment;batch",
            "--enable-cluster-resource-modeling=false",
        ]
    )
    options = options_of(flags)
    assert not options.selection.enabled("namespace")
    assert options.selection.enabled("binding")
    assert options.gates.enabled("Failover")
    assert options.options.of(Concurrency).bindings == 7
    assert options.options.of(ScopeOptions).skipped_namespaces == ("kube-.*", "private-.*")
    assert not options.options.of(StatusOptions).modeling


def test_what_is_asked_for_and_does_not_happen_is_said() -> None:
    flags = parser().parse(["--controllers=binding", "--graceful-eviction-timeout=5m"])
    assert list(without_effect(flags, ["binding"])) == [
        "--graceful-eviction-timeout has no effect: gracefulEviction does not run"
    ]


@pytest.mark.parametrize(
    "timing",
    [
        ("--leader-elect-lease-duration=10s",),
        ("--leader-elect-retry-period=10s",),
        ("--leader-elect-lease-duration=900ms", "--leader-elect-renew-deadline=500ms"),
    ],
    ids=["lease not above deadline", "deadline not above retry", "lease below a second"],
)
def test_leases_that_could_not_work_are_refused(tmp_path: Path, timing: tuple[str, ...]) -> None:
    async def never(_: object) -> None:
        raise AssertionError("started")

    config = tmp_path / "config"
    config.write_text(
        '{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],'
        '"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}]}'
    )
    flags = parser().parse([f"--kubeconfig={config}", "--leader-elect-retry-period=100ms", *timing])
    with pytest.raises(SystemExit, match="leader election needs"):
        run_component(flags, "karmada-controller-manager", never)


ADDRESSES = ("--metrics-bind-address=10.0.0.1:8080", "--health-probe-bind-address=10.0.0.1:10357", "--v=4")
ESTIMATORS = tuple(f"--scheduler-estimator-{part}-file=/etc/karmada/pki/{part}" for part in ("ca", "cert", "key"))
HUB = "--kubeconfig=/etc/karmada/config/karmada.config"
COMPONENTS: dict[str, tuple[Callable[[], FlagParser], tuple[str, ...]]] = {
    "karmada-agent": (
        agent,
        (
            "--karmada-kubeconfig=/etc/kubeconfig/karmada-kubeconfig",
            "--karmada-context=karmada-apiserver",
            "--cluster-name=member3",
            "--cluster-api-endpoint=https://10.0.0.3:6443",
            "--cluster-provider=",
            "--cluster-status-update-frequency=10s",
            "--proxy-server-address=",
            "--report-secrets=KubeCredentials,KubeImpersonator",
            "--leader-elect-resource-namespace=karmada-system",
            "--feature-gates=CustomizedClusterResourceModeling=true",
            *ADDRESSES,
        ),
    ),
    "karmada-aggregated-apiserver": (
        aggregated,
        (
            HUB,
            "--authentication-kubeconfig=/etc/karmada/config/karmada.config",
            "--authorization-kubeconfig=/etc/karmada/config/karmada.config",
            "--etcd-servers=https://etcd-client.karmada-system.svc.cluster.local:2379",
            "--etcd-cafile=/etc/karmada/pki/etcd-client/ca.crt",
            "--etcd-certfile=/etc/karmada/pki/etcd-client/tls.crt",
            "--etcd-keyfile=/etc/karmada/pki/etcd-client/tls.key",
            "--tls-cert-file=/etc/karmada/pki/server/tls.crt",
            "--tls-private-key-file=/etc/karmada/pki/server/tls.key",
            "--tls-min-version=VersionTLS13",
            "--audit-log-path=-",
            "--audit-log-maxage=0",
            "--audit-log-maxbackup=0",
            "--bind-address=10.0.0.1",
            "--v=4",
        ),
    ),
    "karmada-controller-manager": (
        parser,
        (
            HUB,
            "--cluster-status-update-frequency=10s",
            "--failover-eviction-timeout=30s",
            "--controllers=*,hpaScaleTargetMarker,deploymentReplicasSyncer",
            "--feature-gates=AllAlpha=true,AllBeta=true",
            "--leader-elect-resource-namespace=karmada-system",
            *ADDRESSES,
        ),
    ),
    "karmada-descheduler": (descheduler, (HUB, *ESTIMATORS, *ADDRESSES)),
    "karmada-scheduler": (scheduler, (HUB, "--enable-scheduler-estimator=true", *ESTIMATORS, *ADDRESSES)),
    "karmada-scheduler-estimator": (
        estimator,
        (
            "--kubeconfig=/etc/member1-kubeconfig",
            "--cluster-name=member1",
            "--grpc-auth-cert-file=/etc/karmada/pki/server/tls.crt",
            "--grpc-auth-key-file=/etc/karmada/pki/server/tls.key",
            "--grpc-client-ca-file=/etc/karmada/pki/server/ca.crt",
            *ADDRESSES,
        ),
    ),
    "karmada-webhook": (
        webhook,
        (
            HUB,
            "--bind-address=10.0.0.1",
            "--secure-port=8443",
            "--cert-dir=/etc/karmada/pki/server",
            "--feature-gates=AllAlpha=true,AllBeta=true",
            "--allow-no-execute-taint-policy=true",
            *ADDRESSES,
        ),
    ),
}
"""The command lines of the reference's own manifests."""


@pytest.mark.parametrize(("made", "given"), COMPONENTS.values(), ids=COMPONENTS)
def test_command_lines_of_the_references_manifests_are_understood(
    made: Callable[[], FlagParser], given: tuple[str, ...]
) -> None:
    made().parse(given)


@pytest.mark.parametrize(("made", "given"), COMPONENTS.values(), ids=COMPONENTS)
def test_every_component_refuses_a_misspelt_flag_and_names_the_nearest(
    made: Callable[[], FlagParser], given: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        made().parse([*given, "--kubeconfg=there"])
    assert ended.value.code == 2
    assert "unknown flag: --kubeconfg; did you mean --kubeconfig?" in capsys.readouterr().err
