"""Who creates templates faster than they are propagated is asked to come again; nobody else is."""

from contextlib import asynccontextmanager

import pytest
from tests.controllers.plane import CONFIG_MAPS

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.controllers.detector.backlog import TemplateBacklog
from karmada.controllers.detector.policy_index import TemplateKey
from karmada.machinery.client import Client
from karmada.machinery.errors import TooManyRequests
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.backpressure import RETRY_AFTER, Backpressure
from karmada.standalone.control_plane import MANAGER, component_user

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
EVENTS = GroupVersionResource("", "v1", "events")
LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")


def waiting(*names, namespace="busy"):
    return [TemplateKey(CONFIG_MAPS, "v1", "ConfigMap", namespace, name) for name in names]


def config_map(name, namespace="busy"):
    return {"metadata": {"name": name, "namespace": namespace}}


@asynccontextmanager
async def busy():
    """A server, and the two templates of its namespace `busy` that wait; no more than two may."""
    backlog = TemplateBacklog()
    async with ApiServer(ApiServerOptions(admission=[Backpressure(backlog, most=2)])) as server:
        client = Client(server.direct(ADMIN))
        for name in ("busy", "quiet"):
            await client.resource(NAMESPACES).create({"metadata": {"name": name}})
        await client.resource(CONFIG_MAPS).create(config_map("there"))
        for key in waiting("a", "b"):
            backlog.add(key)
        yield server, client, backlog


async def test_a_namespace_with_too_many_templates_that_wait_is_refused_more_until_one_was_looked_at():
    async with busy() as (_, client, backlog):
        maps = client.resource(CONFIG_MAPS)
        sentence = "2 objects of namespace busy wait to be propagated: try again in 5 s, or create fewer at a time"
        with pytest.raises(TooManyRequests, match=sentence) as refused:
            await maps.create(config_map("c"))
        assert refused.value.retry_after == RETRY_AFTER
        await maps.create(config_map("c", "quiet"))
        backlog.discard(waiting("a")[0])
        await maps.create(config_map("c"))


async def test_a_template_waits_once_however_often_it_is_added_and_may_be_taken_twice():
    backlog = TemplateBacklog()
    (key,) = waiting("a")
    backlog.add(key)
    backlog.add(key)
    assert (backlog.size("busy"), backlog.size("quiet")) == (1, 0)
    backlog.discard(key)
    backlog.discard(key)
    assert backlog.size("busy") == 0


async def test_updates_deletions_dry_runs_and_what_is_never_propagated_pass():
    async with busy() as (server, client, _):
        maps = client.resource(CONFIG_MAPS)
        await maps.patch("there", {"data": {"a": "b"}}, "busy")
        await maps.create(config_map("dry"), dry_run=True)
        about = {"kind": "ConfigMap", "namespace": "busy", "name": "there"}
        await client.resource(EVENTS).create(config_map("seen") | {"involvedObject": about})
        await client.resource(LEASES).create(config_map("held"))
        await maps.delete("there", "busy")
        user = component_user(MANAGER)
        component = Client(server.direct(UserInfo(user.name, ("system:masters", *user.groups))))
        await component.resource(CONFIG_MAPS).create(config_map("made"))


async def test_objects_without_a_namespace_are_counted_together():
    async with busy() as (_, client, backlog):
        roles = client.resource(ROLES)
        await roles.create({"metadata": {"name": "before"}, "rules": []})
        for key in waiting("x", "y", namespace=""):
            backlog.add(key)
        with pytest.raises(TooManyRequests, match="2 objects without a namespace wait"):
            await roles.create({"metadata": {"name": "after"}, "rules": []})
        with pytest.raises(TooManyRequests, match="without a namespace"):
            await client.resource(NAMESPACES).create({"metadata": {"name": "another"}})
