"""The programs' flags: every flag of the documents is accepted, nonsense is refused with a hint."""

import pytest

from karmada.descheduler.main import parser as descheduler_parser
from karmada.estimator.main import parser as estimator_parser
from karmada.estimator.main import switches
from karmada.scheduler.main import options_of, parser

FROM_THE_DOCUMENTS = [
    "--kubeconfig=/etc/karmada/karmada.kubeconfig",
    "--bind-address=0.0.0.0",
    "--secure-port=10351",
    "--leader-elect=true",
    "--leader-elect-resource-namespace=karmada-system",
    "--scheduler-estimator-timeout=3s",
    "--enable-scheduler-estimator=true",
    "--v=4",
]


def test_the_scheduler_takes_the_flags_of_the_documents() -> None:
    flags = parser().parse(FROM_THE_DOCUMENTS)
    assert flags.enable_scheduler_estimator
    assert flags.scheduler_estimator_timeout == 3.0


def test_flags_become_options() -> None:
    arguments = ["--plugins=*,-ClusterLocality", "--feature-gates=KeepLastCopy=true", "--scheduler-name=mine"]
    options = options_of(parser().parse([*arguments, "--score-label=cheap"]))
    assert options.name == "mine"
    assert options.settings.gates.enabled("KeepLastCopy")
    assert {plugin.name for plugin in options.framework.scorers} == {"ClusterAffinity", "LabelScore:cheap"}


def test_the_other_programs_have_their_defaults() -> None:
    flags = descheduler_parser().parse([])
    assert (flags.descheduling_interval, flags.unschedulable_threshold) == (120.0, 300.0)
    flags = estimator_parser().parse(["--cluster-name=m1"])
    assert (flags.server_port, flags.health_probe_bind_address) == (10352, ":10351")


@pytest.mark.parametrize(
    "flag", ["--scheduler-estimator-timeout=soon", "--leader-elect=maybe", "--feature-gates=Typo=true", "--unknown"]
)
def test_nonsense_is_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse([flag])
    assert "error" in capsys.readouterr().err


def test_estimator_plugins_are_switched_by_name() -> None:
    enabled = switches("*,-ResourceQuotaEstimator")
    assert enabled("NodeResourceEstimator")
    assert not enabled("ResourceQuotaEstimator")
    with pytest.raises(SystemExit, match="no plugin 'Typo'"):
        switches("Typo")
