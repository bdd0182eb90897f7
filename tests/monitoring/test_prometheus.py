"""Boards and alert rules, asked of the real Prometheus while it scrapes a running federation."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.monitoring.test_table import names
from tests.programs import kubectl, prometheus

from karmada.standalone.layout import Layout
from karmada.standalone.monitoring.boards import boards, dashboard
from karmada.standalone.monitoring.files import write

pytestmark = pytest.mark.tools
HERE = Path(__file__).parent
PROGRAM = [sys.executable, "-m", "karmada.standalone.main"]
QUERIES = {
    f"{board.title}: {panel.title}: {legend}": query
    for board in boards()
    for panel in board.panels
    for legend, query in panel.queries.items()
}


class Watched(NamedTuple):
    """A federation and the Prometheus that scrapes it."""

    data: Path
    files: Path
    url: str

    def ask(self, path: str, **params: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(params)}", timeout=30) as answer:
            return json.load(answer)["data"]


def karmada(*arguments: str) -> str:
    outcome = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=180, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def eventually(check: Callable[[], Any], seconds: float = 120) -> Any:
    until = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < until, "did not happen in time"
        time.sleep(0.2)
    return found


def serves(data: Path, name: str) -> bool:
    """Whether the gateway serves a shop."""
    address = karmada("gateway", "--data", str(data)).strip()
    request = urllib.request.Request(f"{address}/cart", headers={"Host": f"{name}.example.com"})
    with contextlib.suppress(urllib.error.URLError), urllib.request.urlopen(request, timeout=10) as answer:
        return bool(answer.status == 200)
    return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def watching(folder: Path) -> Iterator[Watched]:
    """A federation with work to do, and a Prometheus that scrapes it."""
    program, _ = prometheus()
    apply = [kubectl(), "apply", "-f-"]
    data, files = folder / "federation", folder / "monitoring"
    where = ("--data", str(data))
    karmada("up", "--detach", "--members=2", "--gateway-port=0", "--logging-format=json", *where)
    try:
        karmada("monitoring", str(files), "--scrape-interval=2s", *where)
        port = free_port()
        command = [program, f"--config.file={files / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
        with (folder / "prometheus.log").open("w") as log:
            process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            found = Watched(data, files, f"http://127.0.0.1:{port}")
            eventually(lambda: _scraped_twice(found))
            environment = os.environ | {"KUBECONFIG": str(data / "kubeconfig")}
            for name in ("shop", "stall"):  # a counter has a rate from its second value on
                manifest = (HERE / "shop.yaml").read_text().replace("shop", name)
                subprocess.run(apply, env=environment, input=manifest, text=True, check=True, timeout=60)
                eventually(partial(serves, data, name))
                eventually(partial(_scraped_twice, found, time.time()))
            yield found
        finally:
            process.terminate()
            process.wait(30)
    finally:
        karmada("down", *where)


def _scraped_twice(watched: Watched, since: float = 0.0) -> bool:
    """Whether every target was scraped at least twice since then."""
    with contextlib.suppress(urllib.error.URLError, ConnectionError):
        window = f"{int(time.time() - since) if since else 60}s"
        found = watched.ask("query", query=f"count_over_time(up[{window}]) > 2 and up == 1")["result"]
        return window != "0s" and len(found) == 2
    return False


def test_a_running_federation_is_watched(tmp_path: Path) -> None:
    """One federation for everything that is asked of it: starting it takes longer than all the questions."""
    with watching(tmp_path) as watched:
        every_target_is_scraped_by_a_user_who_may_read_metrics_only(watched)
        every_query_of_a_board_has_data(watched)
        every_alert_rule_is_evaluated_and_none_fires(watched)
        logs_of_all_processes_are_json(watched)
        promtool_finds_rules_and_configuration_right(watched)


def every_target_is_scraped_by_a_user_who_may_read_metrics_only(watched: Watched) -> None:
    targets = watched.ask("targets")["activeTargets"]
    assert {target["labels"]["job"] for target in targets} == {"karmada-control-plane", "karmada-gateway"}
    eventually(lambda: all(target["health"] == "up" for target in watched.ask("targets")["activeTargets"]))
    pki = watched.files / "pki"
    assert oct((pki / "client.key").stat().st_mode & 0o777) == "0o600"
    server = next(target["scrapeUrl"] for target in targets if target["scrapeUrl"].startswith("https"))
    for path, status in (("/metrics", "200"), ("/debug/tasks", "403"), ("/api/v1/secrets", "403")):
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", str(pki / "ca.crt")]
        command += ["--cert", str(pki / "client.crt"), "--key", str(pki / "client.key")]
        url = server.removesuffix("/metrics") + path
        assert subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout == status, path


def every_query_of_a_board_has_data(watched: Watched) -> None:
    without = {}
    for place, query in QUERIES.items():
        values = [sample["value"][1] for sample in watched.ask("query", query=query)["result"]]
        if not any(value != "NaN" for value in values):
            without[place] = values
    assert without == {}


def every_alert_rule_is_evaluated_and_none_fires(watched: Watched) -> None:
    def ruled() -> list[dict[str, Any]]:
        return [rule for group in watched.ask("rules")["groups"] for rule in group["rules"]]

    rules = eventually(lambda: all(rule["health"] != "unknown" for rule in ruled()) and ruled())
    written = yaml.safe_load((watched.files / "alerts.yml").read_text())["groups"]
    assert len(rules) == sum(len(group["rules"]) for group in written)
    assert {rule["name"]: rule["health"] for rule in rules if rule["health"] != "ok"} == {}
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []


def test_alerts_name_metrics_that_exist(tmp_path: Path) -> None:
    """A rule on a metric nobody has would be silent for ever."""
    known = {"up", *names()}
    write(Layout(tmp_path / "none"), tmp_path)
    rules = yaml.safe_load((tmp_path / "alerts.yml").read_text())["groups"]
    for rule in (rule for part in rules for rule in part["rules"]):
        named = _metrics(rule["expr"])
        assert named, rule["alert"]
        assert named <= known, f"{rule['alert']}: {named - known}"


def _metrics(expression: str) -> set[str]:
    """The metrics of an expression: what is no function, no word of the language and no label."""
    bare = re.sub(r'\{[^}]*\}|\[\w+\]|\b(?:by|on) \([^)]*\)|"[^"]*"', " ", expression)
    words = set(re.findall(r"\b[a-z_]+\b(?! *\()", bare)) - {"or", "and", "sum", "max", "le"}
    return {re.sub(r"_(bucket|count|sum)$", "", word) for word in words}


def logs_of_all_processes_are_json(watched: Watched) -> None:
    logs = [path for path in (watched.data / "logs").glob("*.log") if path.name != "supervisor.log"]
    assert {path.stem for path in logs} >= {"control-plane", "members", "gateway"}
    for line in (line for path in logs for line in path.read_text().splitlines()):
        assert {"ts", "level", "msg"} <= json.loads(line).keys()


def promtool_finds_rules_and_configuration_right(watched: Watched) -> None:
    _, promtool = prometheus()
    for check in (["config", "prometheus.yml"], ["rules", "alerts.yml"]):
        outcome = subprocess.run([promtool, "check", *check], cwd=watched.files, capture_output=True, text=True)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_alerts_fire_when_they_should(tmp_path: Path) -> None:
    _, promtool = prometheus()
    written = write(Layout(tmp_path / "none"), tmp_path)
    assert not (tmp_path / "prometheus.yml").exists()
    assert len(written) == 1 + len(boards())
    shutil.copy(HERE / "alerts_test.yml", tmp_path)
    outcome = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_boards_have_places_of_their_own_on_the_grid() -> None:
    for board in boards():
        panels = dashboard(board)["panels"]
        assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
        assert len({panel["id"] for panel in panels}) == len(panels)
