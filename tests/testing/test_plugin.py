import subprocess
import sys

from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource
from karmada.testing import soak

NAMESPACES = GroupVersionResource("", "v1", "namespaces")


async def test_a_test_gets_an_api_server(apiserver):
    async with apiserver() as server:
        maps = Client(server.direct()).resource(GroupVersionResource("", "v1", "configmaps"))
        await maps.create({"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1"}})
        assert (await maps.get("a", "default"))["data"] == {"x": "1"}


def test_a_test_gets_a_simulated_world(explore):
    async def story(world):
        await world.client().resource(NAMESPACES).create({"metadata": {"name": "here"}})
        await world.calm(60)

    assert "ADDED namespaces /here" in explore(story, 1)[0]


def test_loading_the_plugin_costs_next_to_nothing():
    program = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import karmada.testing.plugin\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('karmada')))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert output == "[]\n"


def test_pytest_does_not_compile_the_distribution_anew(tmp_path):
    (tmp_path / "conftest.py").write_text("import pytest\npytest.register_assert_rewrite('karmada')\n")
    (tmp_path / "test_it.py").write_text(
        "import karmada.apiserver.server, karmada.testing.federation, sys\n"
        "def test_it(federation):\n"
        "    loaders = {name: type(module.__spec__.loader).__name__ for name, module in sys.modules.items()\n"
        "               if name.startswith('karmada.') and module.__spec__}\n"
        "    anew = {name for name, loader in loaders.items() if loader == 'AssertionRewritingHook'}\n"
        "    assert 'karmada.testing.federation' in anew\n"
        "    others = {name for name in anew if not name.startswith('karmada.testing')}\n"
        "    assert others <= {'karmada.api', 'karmada.api.version'}, 'only what the plugin is found in'\n"
        "    assert len(loaders) > 500\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_soak_counts_seeds_and_reports_what_breaks(capsys):
    assert soak.main(["--seeds", "3", "--workers", "1"]) == 0
    assert "3 seeds of mirror, 0 broken" in capsys.readouterr().out
