"""Document 001: the command lines in the Deployments of components; every flag shown is one of ours."""

from pathlib import Path

import pytest

from karmada.agent.main import parser as agent
from karmada.api import yaml
from karmada.apiserver.flags import parser as apiserver
from karmada.controllers.flags import parser as controller_manager
from karmada.scheduler.main import parser as scheduler

DATA = Path(__file__).parent / "data"
PROGRAMS = {
    "001-01": ("karmada-apiserver", apiserver),
    "001-02": ("karmada-controller-manager", controller_manager),
    "001-03": ("karmada-scheduler", scheduler),
    "001-06": ("karmada-agent", agent),
}


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: PROGRAMS[block][0])
def test_every_flag_of_the_deployment_is_accepted(block):
    [path] = DATA.glob(f"{block}-*.yaml")
    program, parser = PROGRAMS[block]
    [container] = yaml.load(path.read_text())["spec"]["template"]["spec"]["containers"]
    command, *arguments = container["command"]
    assert Path(command).name == program
    known, unknown = parser().parse_known_args(arguments)
    assert unknown == []
    assert known is not None
