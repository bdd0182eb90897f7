"""A running federation seen from its supervising process: two children, their members joined, one kubeconfig.

Starting is a few steps that report themselves; each can be repeated: a federation whose state survived finds its
members joined already.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from karmada.api import yaml
from karmada.api.counting import counted
from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.apiserver.auth.pki import write_file
from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists, ApiError, NotFound
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import token
from karmada.membership.agent_grant import EVERYTHING
from karmada.membership.certificate import YEAR
from karmada.membership.component_roles import (
    controller_manager_in_members,
    gateway_in_members,
    metrics_adapter_in_members,
)
from karmada.membership.credentials import ensure
from karmada.membership.join import describe, join
from karmada.membership.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTERS
from karmada.membership.refusal import Refused
from karmada.membership.register import Registration, agent_access
from karmada.search.names import PROXY_PATH
from karmada.standalone.children import Child, ChildFailed
from karmada.standalone.layout import GATEWAY_ACCESS, Layout

REGISTRIES = GroupVersionResource("search.karmada.io", "v1alpha1", "resourceregistries")
CONTEXT, ALIAS, HOST, SEARCH = "karmada-apiserver", "karmada", "karmada-host", "karmada-search"
FEW = 10
"""So many members are cached from the beginning; who has more says what is worth it (ResourceRegistry)."""
SEARCHED: JSONObject = {
    "apiVersion": "search.karmada.io/v1alpha1",
    "kind": "ResourceRegistry",
    "metadata": {"name": "default"},
    "spec": {
        "targetCluster": {},
        "resourceSelectors": [{"apiVersion": "v1", "kind": kind} for kind in ("Pod", "Event", "Node")],
    },
}
"""What a new federation has at hand in the context `karmada-search`."""
AGENT_TOKEN_SECONDS = 600.0
READY_SECONDS = 120.0
Progress = Callable[[str], None]


@dataclass(slots=True)
class FederationOptions:
    """What `karmada up` was asked for."""

    layout: Layout
    fleet: Path | None = None
    members: int = 3
    pull: Sequence[str] = ()
    report_secrets: str = "None"
    """What agents report of their members, as `karmada-agent --report-secrets` has it."""
    port: int = 0
    memory: bool = False
    gateway_port: int | None = None
    """Where karmada-gateway serves HTTP, 0 for any free port; None runs no gateway."""
    control_flags: Sequence[str] = ()
    """Flags handed to the control plane as they are."""


@dataclass(slots=True)
class Federation:
    """A running federation seen from its supervising process: two children, their members joined, one kubeconfig."""

    options: FederationOptions
    progress: Progress
    notice: Progress = lambda text: None
    """Called with what happens beside the steps: a process that died, and that it is back."""
    left_out: list[str] = field(default_factory=list)
    """Members of an earlier start that were not started now."""
    children: list[Child] = field(default_factory=list)
    read_only: str = ""
    """Why the control plane can only be read, if so; then members are left as they are."""
    gateway: str = ""
    """Where the gateway serves, if there is one."""
    _members: dict[str, Any] = field(default_factory=dict)

    async def start(self) -> None:
        """Start both processes, join the members, wait until they are ready."""
        layout = self.options.layout
        self.progress("starting the control plane and the members")
        control = Child(
            "control plane",
            self._control_arguments(),
            layout.log("control-plane"),
            self._control_restarted,
            notice=self.notice,
        )
        members = Child("members", self._member_arguments(), layout.log("members"), notice=self.notice)
        self.children = [control, members]
        hub_ready, members_ready = await asyncio.gather(control.start(), members.start())
        described: dict[str, Any] = members_ready["members"]
        self._members = described
        self._write_kubeconfig(Path(hub_ready["kubeconfig"]), described)
        self.read_only = hub_ready.get("read_only", "")
        if self.read_only:
            return
        hub = self.client(CONTEXT)
        try:
            step = f"joining {counted(len(described), 'member')}"
            self.progress(step)
            listed = (await hub.resource(CLUSTERS).list()).items
            self.left_out = sorted(self.idle(cluster["metadata"]["name"] for cluster in listed))
            is_new = not listed
            pulled = self._pulled(described)
            pushed = [name for name in described if name not in pulled]
            joining = asyncio.as_completed([self._join(hub, name, described[name]) for name in pushed])
            for joined, one in enumerate(joining, 1):
                await one
                self.progress(f"{step} ({joined} joined)")
            for name in pulled:
                await self._start_agent(hub, name, described[name])
            self.progress("waiting until they are ready")
            await self._wait_ready(hub, list(described))
            for name in pulled:
                await self._label(hub, name, described[name])
            if is_new and len(described) <= FEW:
                with suppress(NotFound, AlreadyExists):  # Search is switched off, or somebody was quicker.
                    await hub.resource(REGISTRIES).create(SEARCHED)
            if self.options.gateway_port is not None:
                await self._start_gateway(self.options.gateway_port)
        finally:
            await hub.close()

    async def stop(self) -> None:
        """End both processes; the members last, so that the control plane does not see them fall."""
        self.options.layout.gateway.unlink(missing_ok=True)
        self.options.layout.gateway_metrics.unlink(missing_ok=True)
        for child in self.children:
            await child.stop()

    def idle(self, clusters: Iterable[str]) -> set[str]:
        """Which clusters are members of this directory that do not run: the kubeconfig leads to those that do."""
        layout = self.options.layout
        running = load([layout.kubeconfig]).contexts
        return {name for name in clusters if name not in running and (layout.members / name).is_dir()}

    def client(self, context: str) -> Client:
        """A client for one of the kubeconfig's contexts."""
        return Client(HttpTransport(load([self.options.layout.kubeconfig]).target(context)))

    def _control_arguments(self) -> list[str]:
        options = self.options
        arguments = ["karmada.standalone.control_plane_main", "--data", str(options.layout.control_plane)]
        arguments += ["--port", str(options.port)]
        if options.memory:
            arguments.append("--memory")
        if options.gateway_port is not None:
            arguments.append("--gateway")
        return [*arguments, *options.control_flags]

    def _member_arguments(self) -> list[str]:
        options = self.options
        arguments = ["karmada.simulator.main", "--data", str(options.layout.members)]
        arguments += self._logging()
        if options.memory:
            arguments.append("--memory")
        if options.fleet is not None:
            return [*arguments, "--fleet", str(options.fleet)]
        return [*arguments, "--members", str(options.members)]

    def _logging(self) -> list[str]:
        """All processes write their logs in the same form."""
        return flags_among("--logging-format", self.options.control_flags)

    def _pulled(self, described: dict[str, Any]) -> list[str]:
        """The members that connect by themselves: by the command line, or by their fleet."""
        for name in self.options.pull:
            if name not in described:
                raise ChildFailed(f"--pull {name}: there is no such member; there are {', '.join(described)}")
        return [
            name for name, facts in described.items() if name in self.options.pull or facts.get("syncMode") == "Pull"
        ]

    async def _start_agent(self, hub: Client, name: str, facts: dict[str, Any]) -> None:
        """Run the agent of a member, as an operator would beside it: with an agent's own certificate."""
        layout = self.options.layout
        # Through the tunnel the control plane's components are users of the member: FederatedHPAs, `kubectl top`.
        await self._admit(name, [*controller_manager_in_members(), *metrics_adapter_in_members()])
        access = await self._agent_access(hub, name)
        labels = {"provider": facts.get("provider"), "region": facts.get("region")}
        labels["zones"] = ",".join(facts.get("zones") or ())
        agent = Child(
            f"agent of {name}",
            [
                "karmada.agent.main",
                f"--karmada-kubeconfig={access}",
                f"--kubeconfig={facts['kubeconfig']}",
                f"--cluster-name={name}",
                f"--report-secrets={self.options.report_secrets}",
                "--enable-tunnel",
                "--leader-elect=false",
                "--health-probe-bind-address=0",
                "--metrics-bind-address=0",
                *flags_among("--feature-gates", self.options.control_flags),
                *flags_among("--tracing-endpoint", self.options.control_flags),
                *self._logging(),
                *(f"--cluster-{key}={value}" for key, value in labels.items() if value),
            ],
            layout.log(f"agent-{name}"),
            reports=False,
            notice=self.notice,
        )
        self.children.insert(0, agent)
        await agent.start()

    async def _start_gateway(self, wanted: int) -> None:
        """Give the gateway its rights in members and run it, as a process and a user of its own."""
        self.progress("starting the gateway")
        await asyncio.gather(*(self._admit(name, gateway_in_members()) for name in self._members))
        layout = self.options.layout
        child = Child(
            "gateway",
            [
                "karmada.gateway.main",
                f"--kubeconfig={layout.control_plane / GATEWAY_ACCESS}",
                f"--http-bind-address=127.0.0.1:{wanted}",
                "--https-bind-address=0",
                "--publish-address=127.0.0.1",
                "--health-probe-bind-address=0",
                "--metrics-bind-address=127.0.0.1:0",
                *self._logging(),
            ],
            layout.log("gateway"),
        )
        self.children.insert(0, child)
        ready = await child.start()
        self.gateway = f"http://127.0.0.1:{ready['port']}"
        layout.gateway.write_text(f"{self.gateway}\n")
        layout.gateway_metrics.write_text(f"127.0.0.1:{ready['metrics']}\n")

    async def _admit(self, member: str, rights: Sequence[JSONObject]) -> None:
        """Give components of the control plane roles in a member, as its owner would."""
        client = self.client(member)
        kinds = {"ClusterRole": CLUSTER_ROLES, "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS}
        try:
            for tree in rights:
                await ensure(client, kinds[tree["kind"]], tree)
        finally:
            await client.close()

    async def _agent_access(self, hub: Client, name: str) -> Path:
        """The kubeconfig of a member's agent; obtained once, by a token, and kept beside the member's own."""
        path = self.options.layout.members / name / "agent.kubeconfig"
        target = load([self.options.layout.kubeconfig]).target(CONTEXT)
        if path.exists() and await _cluster(hub, name) is not None:
            config = yaml.load(path.read_text())
            reached = config["clusters"][0]["cluster"]
            if reached["server"] != target.server:  # restored elsewhere: the same authority on another port
                reached["server"] = target.server
                write_kubeconfig(path, config)
            return path
        made = token.new_token()
        # The agent runs beside this process and reads its kubeconfig from the file again at every start.
        grant = replace(EVERYTHING, clusters=(name,), certificate_seconds=YEAR)
        await token.create(hub, made, ttl=AGENT_TOKEN_SECONDS, grant=grant)
        try:
            pins = token.pins(target.authority.read())
            registration = Registration(target.server, str(made), name, pins=pins, rotation=False)
            write_file(path, await agent_access(registration), 0o600)
        except Refused as error:
            raise ChildFailed(f"the agent of {name} cannot register: {error}") from error
        finally:
            await token.delete(hub, made.id)
        return path

    async def _join(self, hub: Client, name: str, facts: dict[str, Any]) -> None:
        target = load([Path(facts["kubeconfig"])]).target()
        if (cluster := await _cluster(hub, name)) is not None:
            if cluster["spec"].get("apiEndpoint") != target.server:  # restored elsewhere, on another port
                await hub.resource(CLUSTERS).patch(name, {"spec": {"apiEndpoint": target.server}})
            return
        member = Client(HttpTransport(target))
        labels = {key: facts.get(key, "") for key in ("provider", "region")}
        try:
            await join(member, hub, describe(name, target, zones=",".join(facts.get("zones") or ()), **labels))
        except (ApiError, Refused) as error:
            raise ChildFailed(f"{name} cannot join: {error}") from error
        finally:
            await member.close()
        await self._label(hub, name, facts)

    async def _label(self, hub: Client, name: str, facts: dict[str, Any]) -> None:
        marks = {key: facts[key] for key in ("labels", "annotations") if facts.get(key)}
        if marks:
            await hub.resource(CLUSTERS).patch(name, {"metadata": marks})

    async def _wait_ready(self, hub: Client, names: list[str]) -> None:
        """Follow the clusters until every one is ready; not for ever: one that cannot work is reported as such."""
        waiting = dict.fromkeys(names, "nothing is known of it yet")
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._follow(hub, waiting)
        except TimeoutError:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in waiting.items())
            raise ChildFailed(f"not ready after {READY_SECONDS:.0f} s: {reasons}") from None

    async def _follow(self, hub: Client, waiting: dict[str, str]) -> None:
        listing = await hub.resource(CLUSTERS).list()
        for cluster in listing.items:
            _settle(waiting, cluster)
        if not waiting:
            return
        known = len(waiting)
        async with hub.resource(CLUSTERS).watch(resource_version=listing.resource_version) as stream:
            async for batch in stream:
                for change in batch:
                    _settle(waiting, change.object)
                self.progress(f"waiting until they are ready ({known - len(waiting)} of {known})")
                if not waiting:
                    return

    def _write_kubeconfig(self, hub: Path, members: dict[str, Any]) -> None:
        config = yaml.load(hub.read_text())
        cluster, user = config["clusters"][0], config["users"][0]
        config["contexts"] = [
            {"name": name, "context": {"cluster": cluster["name"], "user": user["name"]}}
            for name in (CONTEXT, ALIAS, HOST)
        ]
        address = cluster["cluster"]["server"].rstrip("/") + PROXY_PATH
        config["clusters"].append({"name": SEARCH, "cluster": {**cluster["cluster"], "server": address}})
        config["contexts"].append({"name": SEARCH, "context": {"cluster": SEARCH, "user": user["name"]}})
        for name, facts in members.items():
            member = yaml.load(Path(facts["kubeconfig"]).read_text())
            config["clusters"].append({**member["clusters"][0], "name": name})
            config["users"].append({**member["users"][0], "name": name})
            config["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        config["current-context"] = CONTEXT
        write_kubeconfig(self.options.layout.kubeconfig, config)

    def _control_restarted(self, ready: dict[str, Any]) -> None:
        """It came back with its state; only its address may have changed."""
        self._write_kubeconfig(Path(ready["kubeconfig"]), self._members)


async def _cluster(hub: Client, name: str) -> dict[str, Any] | None:
    """The Cluster of a member, None while it is none."""
    try:
        return await hub.resource(CLUSTERS).get(name)
    except NotFound:
        return None


def _settle(waiting: dict[str, str], cluster: dict[str, Any]) -> None:
    """Strike out a cluster that is ready, or note why it is not."""
    name = cluster["metadata"]["name"]
    for condition in (cluster.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready" and name in waiting:
            if condition["status"] == "True":
                del waiting[name]
            else:
                waiting[name] = condition.get("message") or condition.get("reason") or "no reason is given"


def flags_among(name: str, flags: Sequence[str]) -> list[str]:
    """The values of one flag of the control plane, as flags for other processes: agents have the same feature gates."""
    apart = [f"{name}={value}" for flag, value in pairwise(flags) if flag == name]
    return [*(flag for flag in flags if flag.startswith(f"{name}=")), *apart]
