"""Whose registrations are approved, what earlier ones are worth then, and what those leave that came to nothing."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.controllers.plane import CLUSTERS, NAMESPACES, on_a_plane

from karmada.apiserver.auth.model import UserInfo
from karmada.controllers.agent_csr import REQUESTS, AgentRequestController
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound, Unavailable
from karmada.machinery.transport import Verb
from karmada.membership import objects, token
from karmada.membership.agent_grant import Grant
from karmada.membership.agent_identity import registration_id
from karmada.membership.agent_roles import agent_roles
from karmada.membership.certificate import obtain_certificate
from karmada.membership.refusal import Refused


def signing_request(cluster, key=None, registration=""):
    """A request for an agent's certificate: one that begins a registration, or of one that is named."""
    key = key or KEY
    registration = registration or registration_id(cluster, key.public_key())
    groups = ("system:karmada:agents", f"system:karmada:registration:{registration}")
    subject = x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:karmada:agent:{cluster}"),
        ]
    )
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


KEY, LATER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
DAY = 24 * 3600
USAGES = ["digital signature", "key encipherment", "client auth"]
SIGNER = "kubernetes.io/kube-apiserver-client"


async def begin(plane):
    """Start the controller beside the namespaces and roles that it counts on."""
    for name in ("karmada-cluster", "karmada-system"):
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": name}})
    may = [{"apiGroups": ["certificates.k8s.io"], "resources": ["*"], "verbs": ["create"]}]
    await plane.client.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("askers", may))
    askers = objects.cluster_role_binding("askers", objects.group_subject("askers"))
    await plane.client.resource(objects.CLUSTER_ROLE_BINDINGS).create(askers)
    plane.start(AgentRequestController(plane.context).controller)


async def ask(plane, name, cluster, key=None, registration="", client=None, seconds=DAY, wait=5):
    """Send a request and wait until it is decided: the type and message of the decision."""
    spec = {"signerName": SIGNER, "usages": USAGES, "request": signing_request(cluster, key, registration)}
    tree = {"metadata": {"name": name}, "spec": spec | {"expirationSeconds": seconds}}
    await (client or plane.client).resource(REQUESTS).create(tree)
    await plane.clock.sleep(wait)
    (condition,) = (await plane.client.resource(REQUESTS).get(name))["status"]["conditions"]
    return condition["type"], condition["message"]


def requester(plane, user, *groups):
    """The client of a user who may ask for certificates of agents."""
    return Client(plane.hub.direct(UserInfo(user, (*groups, "askers", "system:authenticated"))))


async def holder(plane, cluster):
    """The group to which a cluster's roles are bound, the same in all of them; None when there are no roles."""
    found = set()
    for type_, name, space in agent_roles(cluster):
        if type_.resource.endswith("bindings"):
            try:
                binding = await plane.client.resource(type_).get(name, space)
            except NotFound:
                continue
            found |= {subject["name"] for subject in binding["subjects"]}
    assert len(found) <= 1
    return found.pop() if found else None


def is_agents(role):
    return role["metadata"]["name"] == "system:karmada:m1:agent"


def group(cluster, key):
    return f"system:karmada:registration:{registration_id(cluster, key.public_key())}"


async def roles(plane):
    found = (await plane.client.resource(objects.CLUSTER_ROLES).list()).items
    return [role["metadata"]["name"] for role in found if "m1" in role["metadata"]["name"]]


@pytest.mark.parametrize(
    "refused",
    [(Verb.GET, "clusters"), (Verb.DELETE, "clusterroles")],
    ids=["asking for the cluster", "deleting its role"],
)
def test_roles_are_taken_back_also_when_the_first_attempt_fails(refused):
    failed = []

    async def fail_once(request):
        if (request.verb, request.resource.resource) == refused and not failed:
            failed.append(request)
            raise Unavailable("try again")

    async def scenario(plane):
        await begin(plane)
        await ask(plane, "theirs", "m1")
        assert await roles(plane)
        plane.transport.before = fail_once
        await plane.client.resource(REQUESTS).delete("theirs")
        await plane.clock.sleep(60)
        assert failed
        assert await roles(plane) == []

    on_a_plane(scenario)


def test_a_later_registration_of_a_name_leaves_the_earlier_one_without_rights():
    """The certificate of the earlier one is good for a while yet, and names the same cluster."""

    async def scenario(plane):
        await begin(plane)
        assert (await ask(plane, "m1-first", "m1", KEY))[0] == "Approved"
        assert await holder(plane, "m1") == group("m1", KEY)
        assert (await ask(plane, "m1-later", "m1", LATER))[0] == "Approved"
        assert await holder(plane, "m1") == group("m1", LATER)
        await plane.client.resource(REQUESTS).delete("m1-first")
        await plane.clock.sleep(60)
        assert await holder(plane, "m1") == group("m1", LATER), "what the earlier one leaves is not the later one's"
        await plane.client.resource(REQUESTS).delete("m1-later")
        await plane.clock.sleep(60)
        assert await holder(plane, "m1") is None

    on_a_plane(scenario)


def test_only_the_registration_that_is_current_is_renewed():
    async def scenario(plane):
        await begin(plane)
        earlier, current = (registration_id("m1", key.public_key()) for key in (KEY, LATER))
        await ask(plane, "m1-first", "m1", KEY)
        await ask(plane, "m1-later", "m1", LATER)
        for registration, decided in ((earlier, "Denied"), (current, "Approved")):
            agent = requester(plane, "system:karmada:agent:m1", f"system:karmada:registration:{registration}")
            new = ec.generate_private_key(ec.SECP256R1())
            name = f"m1-{registration[:5]}"
            assert (await ask(plane, name, "m1", new, registration, agent))[0] == decided
            (role,) = [r for r in (await plane.client.resource(objects.CLUSTER_ROLES).list()).items if is_agents(r)]
            named = [rule["resourceNames"] for rule in role["rules"] if "resourceNames" in rule]
            assert (["m1-renewal", name] in named) == (decided == "Approved"), "it is read by its name"

    on_a_plane(scenario)


@pytest.mark.parametrize("secret", ["m1", "m1-impersonator"])
def test_nobody_becomes_the_agent_of_a_name_that_denotes_a_secret(secret):
    """It may be a push cluster's that is just joining, or one whose Secret is called otherwise than itself."""

    async def scenario(plane):
        await begin(plane)
        made = objects.secret(secret, "karmada-cluster", {"token": b"t"})
        await plane.client.resource(objects.SECRETS).create(made)
        decided, why = await ask(plane, "m1-abcde", "m1")
        assert decided == "Denied"
        assert f"Secret karmada-cluster/{secret} exists" in why
        assert await holder(plane, "m1") is None

    on_a_plane(scenario)


def test_what_an_agent_reported_goes_with_its_registration_and_does_not_hinder_the_next():
    async def scenario(plane):
        await begin(plane)
        await ask(plane, "m1-first", "m1")
        for name in ("m1", "m1-impersonator"):
            made = objects.secret(name, "karmada-cluster", {"token": b"t"})
            made["metadata"]["annotations"] = {"agent.karmada.io/cluster": "m1"}
            await plane.client.resource(objects.SECRETS).create(made)
        assert (await ask(plane, "m1-later", "m1", LATER))[0] == "Approved"
        await plane.client.resource(REQUESTS).delete("m1-later")
        await plane.clock.sleep(60)
        assert not (await plane.client.resource(objects.SECRETS).list()).items

    on_a_plane(scenario)


def test_an_agent_that_was_faster_keeps_its_roles():
    """Its Cluster appears between the question whether there is one and the roles of the next registration."""

    async def scenario(plane):
        await begin(plane)
        await ask(plane, "m1-first", "m1", KEY)
        seen = []

        async def appears(request):
            if (request.verb, request.resource.resource) == (Verb.CREATE, "subjectaccessreviews") and not seen:
                seen.append(request)
                await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}})

        plane.transport.before = appears
        decided, why = await ask(plane, "m1-later", "m1", LATER)
        assert seen
        assert (decided, "was taken meanwhile" in why) == ("Denied", True)
        assert await holder(plane, "m1") == group("m1", KEY)

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("grant", "outcomes"),
    [
        (Grant(), {"m1": "Approved", "m2": "was used by m1"}),
        (Grant(registrations=2), {"m1": "Approved", "m2": "Approved", "m3": "was used by m1, m2"}),
        (Grant(clusters=("m2",)), {"m1": "is for m2", "m2": "Approved"}),
        (Grant(certificate_seconds=600), {"m1": "may last 600 s"}),
    ],
    ids=["one", "two", "by name", "shorter"],
)
def test_a_token_is_good_for_what_it_says(grant, outcomes):
    async def scenario(plane):
        await begin(plane)
        await token.create(plane.client, token.Token("abcdef", "0123456789abcdef"), ttl=0, grant=grant)
        bearer = requester(plane, "system:bootstrap:abcdef", "system:bootstrappers")
        for cluster, expected in outcomes.items():
            assert expected in " ".join(await ask(plane, f"{cluster}-abcde", cluster, client=bearer))
            if expected == "Approved":
                again = await ask(plane, f"{cluster}-fghij", cluster, LATER, client=bearer)
                assert again[0] == "Approved", "a registration that failed is tried again under its name"

    on_a_plane(scenario)


def test_a_token_is_good_again_for_a_cluster_that_never_came_and_not_for_one_that_left():
    """Who takes its Cluster away and registers anew would be rid of what an administrator did to the first."""

    async def scenario(plane):
        await begin(plane)
        await token.create(plane.client, token.Token("abcdef", "0123456789abcdef"), ttl=0, grant=Grant())
        bearer = requester(plane, "system:bootstrap:abcdef", "system:bootstrappers")
        assert (await ask(plane, "m1-abcde", "m1", client=bearer))[0] == "Approved"
        await plane.client.resource(REQUESTS).delete("m1-abcde")
        await plane.clock.sleep(60)
        assert (await ask(plane, "m1-fghij", "m1", LATER, client=bearer))[0] == "Approved"
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}})
        await plane.client.resource(CLUSTERS).delete("m1")
        for type_, name, space in agent_roles("m1"):  # as the cluster controller does when a cluster leaves
            await plane.client.resource(type_).delete(name, space)
        decided, why = await ask(plane, "m1-klmno", "m1", KEY, client=bearer)
        assert (decided, "has been a member by it" in why) == ("Denied", True)
        await plane.client.resource(REQUESTS).delete("m1-fghij")
        await plane.clock.sleep(60)
        assert (await ask(plane, "m1-pqrst", "m1", KEY, client=bearer))[0] == "Denied"

    on_a_plane(scenario)


async def bearer_of(plane, identity):
    """Who has a bootstrap token that is good for one cluster."""
    await token.create(plane.client, token.Token(identity, "0123456789abcdef"), ttl=0, grant=Grant())
    return requester(plane, f"system:bootstrap:{identity}", "system:bootstrappers")


@pytest.mark.parametrize("withdrawn", [("m1-first", "m1-later"), ("m1-later", "m1-first")], ids=" then ".join)
@pytest.mark.parametrize("fails", [False, True], ids=["at once", "the second time"])
def test_a_token_is_good_again_when_another_one_replaced_it_and_no_cluster_came(withdrawn, fails):
    failed = []

    async def fail_once(request):
        if fails and request.name == "bootstrap-token-abcdef" and not failed:
            failed.append(request)
            raise Unavailable("try again")

    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        assert (await ask(plane, "m1-first", "m1", KEY, client=one))[0] == "Approved"
        plane.transport.before = fail_once
        assert (await ask(plane, "m1-later", "m1", LATER, client=other))[0] == "Approved"
        assert bool(failed) == fails
        for name in withdrawn:
            await plane.client.resource(REQUESTS).delete(name)
            await plane.clock.sleep(60)
        for bearer, cluster in ((one, "m1"), (other, "m2")):
            assert (await ask(plane, f"{cluster}-again", cluster, client=bearer))[0] == "Approved"

    on_a_plane(scenario)


def test_a_token_is_not_spent_on_a_name_that_was_taken_meanwhile():
    async def scenario(plane):
        await begin(plane)
        bearer = await bearer_of(plane, "abcdef")

        async def appears(request):
            if (request.verb, request.resource.resource) == (Verb.CREATE, "subjectaccessreviews"):
                plane.transport.before = None
                await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}})

        plane.transport.before = appears
        assert "was taken meanwhile" in (await ask(plane, "m1-abcde", "m1", client=bearer))[1]
        assert (await ask(plane, "m2-abcde", "m2", client=bearer))[0] == "Approved"

    on_a_plane(scenario)


def test_who_waits_for_a_certificate_that_nobody_approves_asks_less_and_less_often():
    async def scenario(plane):
        looks = []

        async def before(request):
            if request.resource == REQUESTS and request.verb is Verb.GET:
                looks.append(plane.clock.monotonic())

        plane.transport.before = before
        with pytest.raises(Refused, match="was neither approved nor refused within 300 s"):
            await obtain_certificate(plane.context.client, "m1", "renewal", clock=plane.clock)
        assert len(looks) < 100
        assert looks[1] - looks[0] < 1

    on_a_plane(scenario)


def test_a_token_is_not_good_again_for_a_cluster_that_left_while_it_registers_by_another_one():
    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        await ask(plane, "m1-first", "m1", KEY, client=one)
        await plane.client.resource(CLUSTERS).create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Pull"}})
        await plane.client.resource(CLUSTERS).delete("m1")
        for type_, name, space in agent_roles("m1"):  # as the cluster controller does when a cluster leaves
            await plane.client.resource(type_).delete(name, space)
        assert (await ask(plane, "m1-later", "m1", LATER, client=other))[0] == "Approved"
        assert "has been a member by it" in (await ask(plane, "m1-again", "m1", KEY, client=one))[1]
        assert await holder(plane, "m1") == group("m1", LATER)

    on_a_plane(scenario)
