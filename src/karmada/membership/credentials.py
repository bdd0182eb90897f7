"""What a member gives out: accounts for the control plane, made in the member, with tokens that the member issues."""

from dataclasses import dataclass, field

from karmada.api import names
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.codec import identity
from karmada.machinery.committer import Committer
from karmada.machinery.errors import BadAnswer, NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.membership.refusal import Refused

TOKEN_PATIENCE = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.01, 0.5


@dataclass(frozen=True, slots=True)
class MemberCredentials:
    """Access to a member: as its administrator on behalf of Karmada, and as the one that impersonates users."""

    authority: bytes = field(repr=False)
    token: bytes = field(repr=False)
    impersonator_token: bytes = field(repr=False)


async def cluster_id(member: Client) -> str:
    """What a cluster is known by wherever it is registered: the uid of its kube-system namespace."""
    found = identity(await member.encoded(objects.NAMESPACES).get("kube-system"))
    if not found.uid:
        raise BadAnswer("the namespace kube-system of the cluster has no uid")
    return found.uid


async def obtain(member: Client, cluster: str, space: str, clock: Clock = REAL) -> MemberCredentials:
    """Have the accounts exist in the member and return their tokens. Repeating it changes nothing."""
    account = names.member_service_account(cluster)
    role = names.member_role(account)
    await ensure(member, objects.NAMESPACES, objects.namespace(space))
    for name in (names.IMPERSONATOR, account):
        await ensure(member, objects.SERVICE_ACCOUNTS, objects.service_account(name, space))
    await ensure(member, objects.CLUSTER_ROLES, objects.cluster_role(role, objects.EVERYTHING))
    subject = objects.account_subject(account, space)
    await ensure(member, objects.CLUSTER_ROLE_BINDINGS, objects.cluster_role_binding(role, subject))
    for name in (names.IMPERSONATOR, account):
        await ensure(member, objects.SECRETS, objects.token_secret(name, space))
    impersonator = await _filled(member, names.IMPERSONATOR, space, clock)
    own = await _filled(member, account, space, clock)
    return MemberCredentials(own["ca.crt"], own["token"], impersonator["token"])


async def ensure(client: Client, type_: GroupVersionResource, wanted: JSONObject) -> JSONObject:
    """Have an object exist with the rules, subjects, labels and annotations given.

    Labels are added to those it has; annotations, if any are given, are what it has then. What else it has stays.
    """
    metadata = wanted["metadata"]

    def decide(current: JSONObject | None) -> JSONObject:
        if current is None:
            return wanted
        changed: JSONObject = {**current, **{key: wanted[key] for key in ("rules", "subjects") if key in wanted}}
        marks = metadata.get("labels")
        if marks:
            kept = current["metadata"].get("labels") or {}
            changed["metadata"] = {**changed["metadata"], "labels": {**kept, **marks}}
        if "annotations" in metadata:
            changed["metadata"] = {**changed["metadata"], "annotations": metadata["annotations"]}
        return changed

    committer = Committer(client.resource(type_))
    outcome = await committer.ensure(metadata["name"], metadata.get("namespace", ""), decide)
    value: JSONObject = getattr(outcome, "value", wanted)
    return value


async def _filled(member: Client, name: str, space: str, clock: Clock) -> dict[str, bytes]:
    """A token Secret once the member has filled it."""
    until = clock.monotonic() + TOKEN_PATIENCE
    pause = FIRST_PAUSE
    while True:
        try:
            data = objects.decoded(await member.resource(objects.SECRETS).get(name, space))
        except NotFound:
            # The member drops token Secrets of accounts it does not know yet; it is made again.
            await ensure(member, objects.SECRETS, objects.token_secret(name, space))
            data = {}
        if data.get("token") and data.get("ca.crt"):
            return data
        if clock.monotonic() > until:
            raise Refused(
                f"the member did not issue a token for service account {space}/{name} within {TOKEN_PATIENCE:g} s: "
                "its controller manager (token controller) does not run"
            )
        await clock.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
