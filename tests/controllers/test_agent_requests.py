"""Requests that nobody decides here, registrations that lead to no Cluster, and what is left of them."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, on_a_plane
from tests.controllers.test_agent_csr import (
    KEY,
    LATER,
    REQUESTS,
    SIGNER,
    USAGES,
    ask,
    begin,
    group,
    holder,
    requester,
    signing_request,
)

from karmada.apiserver.auth.model import UserInfo
from karmada.controllers.agent_csr import PATIENCE
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import Verb
from karmada.membership import objects, token
from karmada.membership.agent_grant import Grant
from karmada.membership.agent_identity import registration_id

SPACE = "karmada-es-m1"
MEMBER = {"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}}


async def exists(plane, type_, name, space=""):
    try:
        await plane.client.resource(type_).get(name, space)
    except NotFound:
        return False
    return True


async def send(plane, client, **spec):
    whole = {"signerName": SIGNER, "usages": USAGES, "request": signing_request("m1"), "expirationSeconds": 86400}
    tree = {"metadata": {"name": "theirs"}, "spec": whole | spec}
    await client.resource(REQUESTS).create(tree)
    await plane.clock.sleep(5)
    return (await plane.client.resource(REQUESTS).get("theirs")).get("status", {}).get("conditions", [])


@pytest.mark.parametrize("what", ["no permission", "another signer"])
def test_who_may_not_ask_and_what_is_not_ours_is_left_to_others(what):
    async def scenario(plane):
        await begin(plane)
        if what == "no permission":
            rights = {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"]}
            role = objects.cluster_role("writers", [{**rights, "verbs": ["create"]}])
            await plane.client.resource(objects.CLUSTER_ROLES).create(role)
            bound = objects.cluster_role_binding("writers", objects.group_subject("writers"))
            await plane.client.resource(objects.CLUSTER_ROLE_BINDINGS).create(bound)
            stranger = Client(plane.hub.direct(UserInfo("stranger", ("writers", "system:authenticated"))))
            assert await send(plane, stranger) == []
        else:
            assert await send(plane, plane.client, signerName="example.com/other") == []
        assert await holder(plane, "m1") is None

    on_a_plane(scenario)


def test_a_name_that_is_a_member_is_refused():
    async def scenario(plane):
        await begin(plane)
        await plane.client.resource(CLUSTERS).create(MEMBER)
        (condition,) = await send(plane, requester(plane, "somebody"))
        assert (condition["type"], condition["status"], condition["reason"]) == ("Denied", "True", "Refused")
        assert condition["lastUpdateTime"] == condition["lastTransitionTime"]
        assert await holder(plane, "m1") is None

    on_a_plane(scenario)


@pytest.mark.parametrize("comes", [True, False], ids=["its cluster came", "no cluster came"])
def test_a_registration_lasts_if_its_cluster_comes_in_time(comes):
    async def scenario(plane):
        await begin(plane)
        await ask(plane, "m1-first", "m1")
        assert await exists(plane, NAMESPACES, SPACE)
        deleted = []

        async def before(request):
            if request.verb is Verb.DELETE:
                deleted.append(request.name)

        plane.transport.before = before
        await plane.clock.sleep(PATIENCE - 60)
        assert deleted == []
        if comes:
            await plane.client.resource(CLUSTERS).create(MEMBER)
        assert await holder(plane, "m1") == group("m1", KEY)
        await plane.clock.sleep(120)
        assert ("m1-first" not in deleted) == comes
        assert await exists(plane, NAMESPACES, SPACE) == comes
        assert not await exists(plane, REQUESTS, "m1-first"), "the server itself deletes requests of that age"
        assert await holder(plane, "m1") == (group("m1", KEY) if comes else None)

    on_a_plane(scenario)


def test_what_is_not_the_agents_own_stays_when_its_registration_is_taken_back():
    async def scenario(plane):
        await begin(plane)
        await ask(plane, "m1-first", "m1")
        await plane.client.resource(objects.SECRETS).create(objects.secret("m1", "karmada-cluster", {"token": b"t"}))
        metadata = {"name": "w", "namespace": SPACE}
        await plane.client.resource(WORKS).create({"metadata": metadata, "spec": {"workload": {"manifests": []}}})
        await plane.client.resource(REQUESTS).delete("m1-first")
        await plane.clock.sleep(60)
        assert await holder(plane, "m1") is None
        assert await exists(plane, objects.SECRETS, "m1", "karmada-cluster")
        assert await exists(plane, NAMESPACES, SPACE)

    on_a_plane(scenario)


def test_a_token_that_is_gone_registers_nobody_and_each_use_is_written_down_once():
    async def scenario(plane):
        await begin(plane)
        bearer = requester(plane, "system:bootstrap:abcdef", "system:bootstrappers")
        decided, why = await ask(plane, "m1-first", "m1", client=bearer)
        assert (decided, "the bootstrap token is gone" in why) == ("Denied", True)
        made = token.Token("abcdef", "0123456789abcdef")
        await token.create(plane.client, made, ttl=0, grant=Grant(registrations=3))
        for name, cluster in (("a", "m1"), ("b", "m2"), ("c", "m1")):
            assert (await ask(plane, f"{cluster}-{name}", cluster, client=bearer))[0] == "Approved"
        secret = await plane.client.resource(objects.SECRETS).get("bootstrap-token-abcdef", "kube-system")
        assert "m1,m2" in secret["metadata"]["annotations"].values()

    on_a_plane(scenario)


def test_a_secret_that_appears_while_roles_are_given_takes_them_back():
    async def scenario(plane):
        await begin(plane)
        created = []

        async def before(request):
            if request.verb is Verb.CREATE and request.resource == objects.ROLE_BINDINGS and not created:
                created.append(request)
                made = objects.secret("m1", "karmada-cluster", {"token": b"t"})
                await plane.client.resource(objects.SECRETS).create(made)

        plane.transport.before = before
        decided, why = await ask(plane, "m1-first", "m1")
        assert created
        assert (decided, "was taken meanwhile" in why) == ("Denied", True)
        assert await holder(plane, "m1") is None

    on_a_plane(scenario)


def test_a_renewal_under_the_name_that_every_agent_may_read_needs_no_further_role():
    async def scenario(plane):
        await begin(plane)
        await ask(plane, "m1-first", "m1", KEY)
        registration = registration_id("m1", KEY.public_key())
        agent = requester(plane, "system:karmada:agent:m1", f"system:karmada:registration:{registration}")
        before = await plane.client.resource(objects.CLUSTER_ROLES).get("system:karmada:m1:agent")
        new = ec.generate_private_key(ec.SECP256R1())
        assert (await ask(plane, "m1-renewal", "m1", new, registration, agent))[0] == "Approved"
        assert await plane.client.resource(objects.CLUSTER_ROLES).get("system:karmada:m1:agent") == before

    on_a_plane(scenario)


@pytest.mark.parametrize("what", ["changed", "deleted"])
def test_a_request_that_somebody_else_changes_while_it_is_decided_is_looked_at_again_if_it_is_there(what):
    async def scenario(plane):
        await begin(plane)
        requests = plane.client.resource(REQUESTS)

        async def before(request):
            if request.verb is Verb.UPDATE and request.resource == REQUESTS:
                plane.transport.before = None
                if what == "deleted":
                    await requests.delete("theirs")
                else:
                    await requests.patch("theirs", {"metadata": {"labels": {"a": "b"}}})

        plane.transport.before = before
        whole = {"signerName": SIGNER, "usages": USAGES, "request": signing_request("m1", LATER)}
        await requests.create({"metadata": {"name": "theirs"}, "spec": {**whole, "expirationSeconds": 86400}})
        await plane.clock.sleep(10)
        assert plane.transport.before is None
        if what == "deleted":
            assert not await exists(plane, REQUESTS, "theirs")
        else:
            (condition,) = (await requests.get("theirs"))["status"]["conditions"]
            assert condition["type"] == "Approved"

    on_a_plane(scenario)


def test_a_registration_whose_request_goes_before_its_approval_is_seen_is_taken_back():
    async def scenario(plane):
        await begin(plane)

        async def before(request):
            if request.verb is Verb.UPDATE and request.resource == REQUESTS:
                plane.transport.held = frozenset({REQUESTS})

        plane.transport.before = before
        await ask(plane, "m1-first", "m1")
        assert await holder(plane, "m1") == group("m1", KEY)
        await plane.client.resource(REQUESTS).delete("m1-first")
        plane.transport.held = frozenset()
        await plane.clock.sleep(10)
        assert await holder(plane, "m1") is None

    on_a_plane(scenario)
