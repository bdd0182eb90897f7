"""Command lines of components."""

from pathlib import Path

import pytest

from karmada.controllers.flags import options_of, parser, without_effect
from karmada.machinery.component import run_component


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
    assert options_of(flags).status.period == 20
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
    assert options.concurrency.bindings == 7
    assert options.skipped_namespaces == ("kube-.*", "private-.*")
    assert not options.status.modeling


def test_what_is_asked_for_and_does_not_happen_is_said() -> None:
    flags = parser().parse(["--controllers=binding,remedy", "--graceful-eviction-timeout=5m"])
    assert without_effect(flags, ["binding"]) == [
        "this version has no controller remedy",
        "--graceful-eviction-timeout has no effect: gracefulEviction does not run",
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
