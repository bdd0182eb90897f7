"""What the pages get about a federation."""

import asyncio
from typing import Any

import pytest
from tests.dashboard.world import API, WORKLOAD, Browser, Dashboards, deployment, policy
from tests.membership.world import eventually
from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionType
from wsproto.events import BytesMessage

from karmada.machinery.transport import JSONObject
from karmada.simulator.faults import Faults


async def healthy(browser: Browser, name: str = "nginx") -> JSONObject:
    async def look() -> Any:
        rows = (await browser.api(f"workloads?q={name}&kind=deployment"))["items"]
        return rows[0] if rows and rows[0]["status"] == "Healthy" else None

    found: JSONObject = await eventually(look)
    return found


async def test_the_way_of_a_workload_is_shown_from_template_to_pods(federation: Dashboards) -> None:
    browser = await federation.admin()
    override: JSONObject = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": {"name": "mirror", "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}],
            "overrideRules": [
                {"overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "1.26"}]}}
            ],
        },
    }
    await federation.apply(override, policy("nginx", "member1"), deployment())
    row = await healthy(browser)
    assert row["clusters"] == [{"name": "member1", "replicas": 2, "ready": 2, "health": "Healthy"}]
    assert row["policy"]["name"] == "nginx"
    found = await browser.api(f"workload?{WORKLOAD}")
    types = [node["type"] for node in found["graph"]["nodes"]]
    for wanted in ("template", "policy", "binding", "cluster", "override", "work", "object", "pod"):
        assert wanted in types
    assert {node["state"] for node in found["graph"]["nodes"]} == {"ok", "off"}
    ids = {node["id"] for node in found["graph"]["nodes"]}
    assert all(edge["from"] in ids and edge["to"] in ids for edge in found["graph"]["edges"])
    verdicts = {one["cluster"]: one for one in found["verdicts"]}
    assert verdicts["member1"]["chosen"]
    assert not verdicts["member2"]["chosen"]
    assert verdicts["member2"]["reasons"][0]["remedy"]
    assert (
        "+        image: nginx:1.26" in found["overrides"][0]["diff"] or "nginx:1.26" in found["overrides"][0]["diff"]
    )
    assert found["why"]["status"] == "ok"
    assert any(one["kind"] == "decision" for one in found["timeline"])
    clusters = {one["name"]: one for one in await browser.api("clusters")}
    assert clusters["member1"]["ready"] is True
    assert clusters["member1"]["workloads"] == 1
    assert clusters["member2"]["workloads"] == 0
    detail = await browser.api("clusters/member1")
    assert detail["apis"] > 50
    assert detail["conditions"]


async def test_a_template_without_a_policy_is_shown_with_the_reason(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(deployment())

    async def look() -> Any:
        return (await browser.api("workloads"))["items"]

    rows = await eventually(look)
    assert [(row["ref"]["name"], row["status"]) for row in rows] == [("nginx", "NoPolicy")]
    found = await browser.api(f"workload?{WORKLOAD}")
    assert found["why"]["status"] == "broken"
    assert "PropagationPolicy" in found["why"]["remedy"][0]


async def test_the_stream_reports_changes_as_they_happen(federation: Dashboards) -> None:
    browser = await federation.admin()
    await browser.api("workloads")
    events = await browser.stream("overview,workloads,clusters,workload:apps/v1/Deployment/default/nginx")
    first = [await events.next() for _ in range(4)]
    assert {one["topic"] for one in first} == {
        "overview",
        "workloads",
        "clusters",
        "workload:apps/v1/Deployment/default/nginx",
    }
    assert all(one["snapshot"] for one in first)
    await federation.apply(policy("nginx", "member1"), deployment())
    async with asyncio.timeout(20):
        while True:
            change = await events.until("workloads")
            if change["rows"] and change["rows"][0]["status"] == "Healthy":
                break
    overview = await browser.api("overview")
    assert overview["moves"][0]["after"] == {"member1": 2}
    assert overview["workloads"]["healthy"] == 1
    await events.close()


async def test_a_member_that_falls_turns_red_with_the_reason(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(policy("nginx", "member1"), deployment())
    await healthy(browser)
    events = await browser.stream("clusters")
    assert all(row["ready"] for row in (await events.next())["rows"])
    federation.members["member1"].gate.faults = Faults(down=True)
    async with asyncio.timeout(30):
        while True:
            rows = {row["name"]: row for row in (await events.until("clusters", 30))["rows"]}
            if "member1" in rows and rows["member1"]["ready"] is False:
                break
    await events.close()
    problem = (await browser.api("overview"))["problems"][0]
    assert problem["object"]["name"] == "member1"
    assert problem["severity"] == "error"
    assert "member1" in problem["remedy"]
    found = await browser.api(f"workload?{WORKLOAD}")
    nodes = {node["id"]: node for node in found["graph"]["nodes"]}
    assert nodes["cluster/member1"]["state"] == "bad"
    assert nodes["object/member1"]["state"] == "bad"
    assert found["why"]["status"] == "broken"
    reply = await browser.get(f"{API}/object?apiVersion=v1&kind=Pod&namespace=default&name=x&cluster=member1")
    assert reply.status == 503


async def test_policies_show_what_they_hold_and_who_wants_the_same(federation: Dashboards) -> None:
    browser = await federation.admin()
    other = policy("other", "member2")
    other["spec"]["resourceSelectors"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": {"tier": "web"}}}
    ]
    await federation.apply(policy("nginx", "member1"), other, deployment(tier="web"))
    await healthy(browser)
    rows = {row["ref"]["name"]: row for row in await browser.api("policies")}
    assert rows["nginx"]["matches"] == 1
    assert rows["nginx"]["placement"] == "member1"
    assert rows["other"]["selectors"] == ["Deployment (apps/v1) in default with tier=web"]
    assert rows["other"]["conflicts"][0]["with"]["name"] == "nginx"
    query = "apiVersion=policy.karmada.io/v1alpha1&kind=PropagationPolicy&namespace=default&name=nginx"
    one = await browser.api(f"policy?{query}")
    assert [ref["name"] for ref in one["matched"]] == ["nginx"]
    assert one["object"]["spec"]["placement"]


async def test_what_if_a_cluster_is_gone_is_shown_before_it_happens(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(policy("nginx", "member1"), deployment())
    await healthy(browser)
    done = (await browser.post(f"{API}/simulate", {"manifests": "", "clustersDown": ["member1"]})).json
    assert done["problems"][0]["object"]["name"] == "nginx"
    moved = policy("nginx", "member2")
    import yaml

    done = (await browser.post(f"{API}/simulate", {"manifests": yaml.safe_dump(moved)})).json
    assert done["moves"][0]["before"] == {"member1": 2}
    assert done["moves"][0]["after"] == {"member2": 2}
    many = {"manifests": "", "replicas": {"Deployment default/nginx": 5}}
    done = (await browser.post(f"{API}/simulate", many)).json
    assert done["moves"][0]["after"] == {"member1": 5}
    wrong = await browser.post(f"{API}/simulate", {"clustersDown": ["nowhere"]})
    assert wrong.status == 422
    assert "nowhere" in wrong.message


MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  key: value
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: two
spec:
  replicas: 1
  replics: 2
  selector: {matchLabels: {app: two}}
  template:
    metadata: {labels: {app: two}}
    spec: {containers: [{name: main, image: nginx}]}
"""


async def test_manifests_are_tried_and_written_with_errors_at_their_lines(dashboards: Dashboards) -> None:
    browser = await dashboards.admin()
    tried = (await browser.post(f"{API}/dry-run", {"manifests": MANIFEST})).json
    assert [one["action"] for one in tried] == ["created", "failed"]
    assert tried[1]["errors"][0]["line"] == 13 or tried[1]["errors"][0]["field"]
    assert "replics" in tried[1]["errors"][0]["message"]
    first = MANIFEST.partition("---")[0]
    done = (await browser.post(f"{API}/apply", {"manifests": first})).json
    assert [one["action"] for one in done] == ["created"]
    again = (await browser.post(f"{API}/apply", {"manifests": first})).json
    assert [one["action"] for one in again] == ["unchanged"]
    changed = first.replace("value", "other")
    assert (await browser.post(f"{API}/dry-run", {"manifests": changed})).json[0]["action"] == "configured"
    assert (await browser.post(f"{API}/apply", {"manifests": changed})).json[0]["action"] == "configured"
    found = await browser.api("object?apiVersion=v1&kind=ConfigMap&namespace=default&name=one")
    assert found["data"] == {"key": "other"}
    broken = await browser.post(f"{API}/dry-run", {"manifests": "a: [b"})
    assert broken.status == 400
    assert "line" in broken.message


async def test_the_schema_of_a_kind_comes_with_what_it_refers_to(dashboards: Dashboards) -> None:
    browser = await dashboards.admin()
    schema = await browser.api("schema?apiVersion=apps/v1&kind=Deployment")
    assert "spec" in schema["properties"]
    assert any(name.endswith("PodSpec") for name in schema["definitions"])
    custom = await browser.api("schema?apiVersion=policy.karmada.io/v1alpha1&kind=PropagationPolicy")
    assert "spec" in custom["properties"]


async def test_events_and_drift_are_shown(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(policy("nginx", "member1"), deployment())
    await healthy(browser)
    assert any(one["reason"] == "ScheduleBindingSucceed" for one in await browser.api("events?namespace=default"))
    assert any(one["cluster"] == "member1" for one in await browser.api("events?cluster=member1"))
    assert await browser.api("drift") == []


async def test_nodes_are_those_of_the_member(federation: Dashboards) -> None:
    browser = await federation.admin()
    found = await browser.api("clusters/member1/nodes")
    assert not found["more"]
    assert found["items"]
    for one in found["items"]:
        assert one["ready"] is True
        assert one["schedulable"]
        assert one["allocatable"].keys() >= {"cpu", "memory", "pods"}
    assert (await browser.get(f"{API}/clusters/nowhere/nodes")).status == 404


async def test_workloads_are_filtered_by_cluster_and_by_several_states(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(policy("nginx", "member1"), deployment(), deployment("alone"))
    await healthy(browser)
    for query, names in (
        ("cluster=member1", ["nginx"]),
        ("cluster=member2", []),
        ("status=Unhealthy,Unscheduled,NoPolicy", ["alone"]),
        ("status=Healthy", ["nginx"]),
    ):
        found = await browser.api(f"workloads?kind=Deployment&{query}")
        assert [one["ref"]["name"] for one in found["items"]] == names, query
    counted = (await browser.api("overview"))["workloads"]
    assert counted == {"total": 2, "healthy": 1, "progressing": 0, "unhealthy": 1}


async def test_logs_come_from_the_member_as_plain_text(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(policy("nginx", "member1"), deployment())
    await healthy(browser)
    found = await browser.api(f"workload?{WORKLOAD}")
    pod = next(node for node in found["graph"]["nodes"] if node["type"] == "pod")["label"]
    reply = await browser.get(f"{API}/pods/member1/default/{pod}/log?tail=5")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.body
    missing = await browser.get(f"{API}/pods/member1/default/none/log")
    assert missing.status == 404


@pytest.mark.parametrize("path", ["search?q=nginx"])
async def test_search_answers_with_rows(federation: Dashboards, path: str) -> None:
    browser = await federation.admin()
    assert await browser.api(path) == []


class Terminal:
    """A WebSocket that speaks the channels of exec."""

    def __init__(self, browser: Browser, path: str) -> None:
        self._browser = browser
        self._path = path
        self._frames = Frames(ConnectionType.CLIENT)

    async def open(self, origin: str = "") -> int:
        headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Protocol": "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.eA",
            **({"Origin": origin} if origin else {}),
        }
        self._connection = await self._browser.open("GET", self._path, headers=headers)
        status, _ = await self._connection.head()
        return status

    async def send(self, data: bytes) -> None:
        self._connection.writer.write(self._frames.send(BytesMessage(b"\0" + data)))

    async def until(self, wanted: bytes) -> bytes:
        """What the terminal shows until a text appears."""
        shown = b""
        async with asyncio.timeout(15):
            while wanted not in shown:
                self._frames.receive_data(await self._connection.reader.read(65536))
                for event in self._frames.events():
                    if isinstance(event, BytesMessage):
                        shown += bytes(event.data)[1:]
        return shown

    async def close(self) -> None:
        await self._connection.close()


async def test_a_terminal_opens_for_pages_of_this_server_only(federation: Dashboards) -> None:
    browser = await federation.admin()
    await federation.apply(policy("nginx", "member1"), deployment())
    await healthy(browser)
    found = await browser.api(f"workload?{WORKLOAD}")
    pod = next(node for node in found["graph"]["nodes"] if node["type"] == "pod")["label"]
    path = f"{API}/pods/member1/default/{pod}/exec?command=sh"
    for origin in ("", "https://evil.example.com", "null"):
        terminal = Terminal(browser, path)
        assert await terminal.open(origin) == 403
        await terminal.close()
    terminal = Terminal(browser, path)
    assert await terminal.open(f"https://{browser.host}") == 101
    await terminal.send(b"echo hello\r")
    await terminal.until(b"\r\nhello\r\n")
    await terminal.close()
    stranger = Terminal(federation.browser(), path)
    assert await stranger.open(f"https://{browser.host}") == 401
    await stranger.close()
