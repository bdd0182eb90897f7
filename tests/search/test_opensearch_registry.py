"""Registries that name an OpenSearch: what they select is sent there, and a condition says how that goes."""

import pytest
from tests.membership.world import eventually
from tests.search.fake_opensearch import FakeOpenSearch, listening
from tests.search.world import PODS, REGISTRIES, Searched, pod, registry

from karmada.apiserver.auth.model import UserInfo
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import JSONObject
from karmada.membership import objects


async def backend(searched: Searched, reason: str) -> JSONObject:
    async def reported() -> JSONObject | None:
        conditions = (await searched.hub.resource(REGISTRIES).get("all"))["status"]["conditions"]
        return next((c for c in conditions if c["type"] == "BackendReady" and c["reason"] == reason), None)

    found: JSONObject = await eventually(reported)
    return found


async def test_a_registry_sends_what_it_selects_and_says_when_it_cannot(searched: Searched) -> None:
    for name, member in searched.members.items():
        await member.client.resource(PODS).create(pod(f"web-{name}"))
    async with listening(FakeOpenSearch()) as fake:
        wanted = registry(("v1", "Pod"), clusters=["member1"])
        store = {"addresses": [fake.address], "secretRef": {"namespace": "default", "name": "nosuch"}}
        wanted["spec"]["backendStore"] = {"openSearch": store}
        await searched.register(wanted)  # the cache is ready whatever its backend says
        missing = await backend(searched, "SecretNotFound")
        assert missing["status"] == "False"
        assert "secret default/nosuch" in missing["message"]
        del store["secretRef"]
        registries = searched.hub.resource(REGISTRIES)
        await registries.patch("all", {"spec": {"backendStore": {"openSearch": {"secretRef": None}}}})
        assert (await backend(searched, "Sent"))["status"] == "True"

        async def sent() -> bool:
            return fake.names() == ["web-member1"]

        await eventually(sent)
        await registries.patch("all", {"spec": {"backendStore": None}})

        async def silent() -> bool:
            conditions = (await registries.get("all"))["status"]["conditions"]
            return [condition["type"] for condition in conditions] == ["Ready"]

        await eventually(silent)


async def test_a_registry_names_only_a_secret_that_its_author_may_read(searched: Searched) -> None:
    rule = {"apiGroups": ["search.karmada.io"], "resources": ["resourceregistries"], "verbs": ["create", "patch"]}
    await searched.hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("registries", [rule], {}))
    subject = objects.user_subject("librarian")
    await searched.hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(
        objects.cluster_role_binding("registries", subject)
    )
    librarian = Client(searched.world.plane.server.direct(UserInfo("librarian", ("system:authenticated",))))
    registries = librarian.resource(REGISTRIES)
    wanted = registry(("v1", "Pod"))
    named = {"addresses": ["http://127.0.0.1:1"], "secretRef": {"namespace": "team-b", "name": "password"}}
    wanted["spec"]["backendStore"] = {"openSearch": named}
    with pytest.raises(Forbidden, match="you may not read Secret team-b/password"):
        await registries.create(wanted)
    await searched.hub.resource(REGISTRIES).create(wanted)
    with pytest.raises(Forbidden, match="you may not read Secret team-b/password"):
        await registries.patch("all", {"spec": {"backendStore": {"openSearch": {"addresses": ["http://127.0.0.1:2"]}}}})
    await registries.patch("all", {"metadata": {"labels": {"team": "a"}}})
    del named["secretRef"]
    await registries.create({**wanted, "metadata": {"name": "plain"}})
