"""What a container's process inherits."""

import os

from karmada.simulator.processes.environment import absolute


def test_a_search_path_means_the_same_in_another_folder() -> None:
    here = os.getcwd()
    assert absolute(f"src{os.pathsep}/lib/other") == f"{here}/src{os.pathsep}/lib/other"
