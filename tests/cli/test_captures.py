"""What the reference printed, against what we print for the same commands in the same order.

Ages, identifiers, addresses and the width of columns are evened out. `EXPLAINED` lists every capture that differs on
purpose, why, and in what.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.samples import DEPLOYMENTS
from tests.cli.world import Outcome, World

from karmada.api import yaml
from karmada.api.client_apply import remember
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
CLUSTER_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
EVENTS = GroupVersionResource("", "v1", "events")
RECORDED = Path(__file__).parents[3] / "shared" / "golden" / "cli"


class Difference(NamedTuple):
    """Why a capture is not reproduced to the letter, and what is evened out before it is compared all the same."""

    reason: str
    rules: tuple[tuple[str, str], ...]


EXPLAINED = {
    "062": Difference(
        "a ServiceImport makes no derived Service on the control plane yet", ((r"service/derived-far .*\n", ""),)
    ),
    "065": Difference(
        "controllers that race write some events more than once; the reference also reports races that it lost, and "
        "has no conditions of the sum",
        (
            (r" \(x\d+ over <age>\)", ""),
            (r" Warning ApplyPolicyFailed .* already exists\n", ""),
            (r"(?m)^Conditions:\n(?: .*\n){4}", ""),
        ),
    ),
    "066": Difference(
        "simulated members have a hash of their own for templates of pods", ((r"shop-[0-9a-z]{8,10}\b", "shop-<hash>"),)
    ),
    "067": Difference(
        "lists of applied policies stay as applied: a selector without a namespace means that of its policy",
        ((r"(?m)^ Namespace: t-cli-ns\n", ""),),
    ),
    "092": Difference("the reference logs the sentence, with the prefix of its logger", ((r"<klog \S+> ", ""),)),
    "110": Difference("LuaJIT words syntax errors in its own way", ((r"ERROR: .*", "ERROR"),)),
    "172": Difference(
        "unjoin takes the flags of join, which needs no context of the cluster's name",
        ((r"error: (context|no cluster object) .*", "error: <no such cluster>"),),
    ),
    "177": Difference(
        "-C names a cluster in every command",
        ((r"error: .*\n(See .*\n)?", "error: <refused>\n"),),
    ),
    "165": Difference("our own version, compiler and platform", ((r':"[^"]*"', ':"<ours>"'),)),
}
IN_ANY_ORDER = {"065": "events that fall into one second", "124": "tokens, whose names are random"}
FIRST = ("Namespace", "OverridePolicy", "ClusterOverridePolicy")
EXPECTED_EVENTS = Counter(
    {
        ("Deployment", "GetReplicasSucceed"): 1,
        ("Deployment", "ApplyPolicySucceed"): 1,
        ("Deployment", "SyncWorkSucceed"): 1,
        ("Deployment", "ScheduleBindingSucceed"): 1,
        ("Deployment", "ApplyOverridePolicySucceed"): 1,
        ("Deployment", "SyncSucceed"): 2,
        ("Deployment", "AggregateStatusSucceed"): 1,
        ("ResourceBinding", "SyncWorkSucceed"): 1,
        ("ResourceBinding", "ScheduleBindingSucceed"): 1,
        ("ResourceBinding", "AggregateStatusSucceed"): 1,
    }
)
"""Events that descriptions show; they are written a while after what they report."""
EARLIER = ("121", "122", "123", "127")
"""Commands that had been run once before the recording began."""
_RULES = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"(https?://)?(127\.0\.0\.1|localhost|\[::1\]):\d+", "<endpoint>"),
    (r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", "<bootstrap-token>"),
    (r"sha256:[0-9a-f]{64}", "sha256:<hash>"),
    (r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),
    (r"(-[0-9a-z]{8,10})-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<hash>-<rand>"),
    (r"(?<![\w.-])(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)(?![\w.])", "<age>"),
    (r"(?<![\w.-])\d+[mhd](?=\s|$)", "<age>"),
    (r'resourceVersion: (<rv>|"\d+")', "resourceVersion: <rv>"),
    (r"Resource Version: +\d+", "Resource Version: <rv>"),
    (r'ReplicaSet "shop-[0-9a-z]{8,10}"', 'ReplicaSet "shop-<hash>"'),
    (r"\(there are: [^)]*\)", ""),
    (r"[ \t]+", " "),
    (r" *\n", "\n"),
)


def _is_applied(binding: dict[str, Any]) -> bool:
    conditions = (binding.get("status") or {}).get("conditions") or []
    return any(each["type"] == "FullyApplied" and each["status"] == "True" for each in conditions)


def captures() -> list[Any]:
    if not RECORDED.is_dir():
        return []
    found = []
    for path in sorted((RECORDED / "out").glob("*.yaml")):
        capture = yaml.load(path.read_text())
        if capture["command"].startswith("{karmadactl}"):
            found.append(pytest.param(path.stem[:3], capture, id=path.stem[:40]))
    return found


def even(text: str, number: str = "") -> list[str]:
    for pattern, replacement in _RULES:
        text = re.sub(pattern, replacement, text)
    for pattern, replacement in EXPLAINED[number].rules if number in EXPLAINED else ():
        text = re.sub(pattern, replacement, text)
    lines = text.strip().splitlines()
    return sorted(lines) if number in IN_ANY_ORDER else lines


class Replay:
    """Runs the recorded commands in order, each once, and keeps what they said."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outcomes: dict[str, Outcome] = {}

    def run(self) -> None:
        self._start()
        for parameter in captures():
            if parameter.values[0] in EARLIER:
                self._command(parameter.values[1]["command"])
        for parameter in captures():
            number, capture = parameter.values
            if number == "088":
                self._legacy()
            self.outcomes[number] = self._command(capture["command"])

    def _start(self) -> None:
        # Adaptations first: what travels before them has a second generation in its member when they come.
        items = list(yaml.load_all((RECORDED / "fixture.yaml").read_text()))
        first = yaml.dump_all([item for item in items if item["kind"] in FIRST])
        places = ("--kubeconfig", str(self.world.kubeconfig))
        for done in (
            self.world.run("apply", "-f", "-", *places, stdin=first, config=False),
            self._command("{karmadactl} apply -f fixture.yaml --kubeconfig {kc}"),
        ):
            assert done.code == 0, done.err
        self.world.eventually(self._is_ready)

    def _is_ready(self) -> bool:
        client = self.world.plane.client
        found = self.world.call(client.resource(DEPLOYMENTS).get("shop", "t-cli-ns"))
        bindings = [
            self.world.call(client.resource(BINDINGS).get("shop-deployment", "t-cli-ns")),
            self.world.call(client.resource(BINDINGS).get("shop-service", "t-cli-ns")),
            self.world.call(client.resource(CLUSTER_BINDINGS).get("t-cli-ns-role-clusterrole")),
        ]
        events = self.world.call(client.resource(EVENTS).list(Scope("t-cli-ns"))).items
        about = Counter((event["involvedObject"]["kind"], event["reason"]) for event in events)
        is_running = (found.get("status") or {}).get("readyReplicas") == 3 and all(map(_is_applied, bindings))
        return is_running and about >= EXPECTED_EVENTS

    def _legacy(self) -> None:
        item = remember(yaml.load((RECORDED / "legacy.yaml").read_text()))
        self.world.call(self.world.fleet["member1"].inside.resource(DEPLOYMENTS).create(item))

    def _command(self, line: str) -> Outcome:
        words = shlex.split(line)[1:]
        places = {"{kc}": str(self.world.kubeconfig), "{member1}": self.world.member_config("member1")}
        files = {path.name: str(path) for path in RECORDED.glob("*.yaml")}
        return self.world.run(*(places.get(word) or files.get(word) or word for word in words), config=False)


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    if not RECORDED.is_dir():
        pytest.skip("needs ../shared/golden/cli")
    world = World(tmp_path_factory.mktemp("captures"), metricsServer=False)
    world.start()
    try:
        made = Replay(world)
        made.run()
        yield made
    finally:
        world.stop()


@pytest.mark.xdist_group("captures")
@pytest.mark.parametrize(("number", "capture"), captures())
def test_a_capture_is_reproduced(replay: Replay, number: str, capture: dict[str, Any]) -> None:
    ours = replay.outcomes[number]
    assert ours.code == capture["exit"], ours.err
    assert even(ours.out, number) == even(capture["stdout"], number)
    # The reference complains about clusters in the order in which they answer.
    assert sorted(even(ours.err, number)) == sorted(even(capture["stderr"], number))


def test_every_explained_capture_exists() -> None:
    known = {parameter.values[0] for parameter in captures()}
    assert not known or {*EXPLAINED, *IN_ANY_ORDER, *EARLIER} <= known
