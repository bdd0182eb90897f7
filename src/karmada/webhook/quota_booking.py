"""Books what a binding uses more in the FederatedResourceQuotas that count its namespace: in all that name it, or none.

All of them are asked for room before anything is written. One that others change meanwhile is asked again, without
booking twice in those that are done; should it refuse then, what was booked is taken back. A booking
whose binding is not written after all is found by the controller that counts what is used.

Whoever reaches the webhook can send it a review, and again, of what is never stored. So a review gives nothing back:
the controller does, which counts what stored bindings use.
"""

import contextlib

from karmada.api.label_selector import Selector
from karmada.api.names import SYSTEM_NAMESPACE
from karmada.api.quantity import ZERO, Quantity
from karmada.machinery.errors import ApiError, Conflict
from karmada.policies import quota_tree
from karmada.policies.quota import Amounts, difference, plus
from karmada.webhook.model import Denied, JSONObject, Review

QUOTA = ("policy.karmada.io/v1alpha1", "FederatedResourceQuota")
ATTEMPTS = 5


async def book(review: Review, more: Amounts) -> None:
    """Record what the binding of a review uses more than before, or raise `Denied`."""
    booked: set[str] = set()
    try:
        await _book(review, more, booked)
    except (ApiError, Denied):
        with contextlib.suppress(ApiError):
            await _take_back(review, more, booked)
        raise


async def _book(review: Review, more: Amounts, booked: set[str]) -> None:
    for _ in range(ATTEMPTS):
        concerned = [quota for quota in await _quotas(review, more) if _name(quota) not in booked]
        for quota in concerned:
            _check(quota, more)
        try:
            for quota in concerned:
                await _write(review, quota, more)
                booked.add(_name(quota))
            return
        except Conflict:
            continue
    raise Denied("FederatedResourceQuotas keep changing; try again", code=409, reason="Conflict")


async def _take_back(review: Review, more: Amounts, booked: set[str]) -> None:
    for _ in range(ATTEMPTS):
        if review.dry_run or not booked:
            return
        for quota in await _quotas(review, more):
            if _name(quota) in booked:
                with contextlib.suppress(Conflict):
                    await _write(review, quota, difference({}, more))
                    booked.discard(_name(quota))


async def _quotas(review: Review, more: Amounts) -> list[JSONObject]:
    """The quotas that a booking concerns, as they are now: those of its namespace, then those that select it."""
    found = await review.lookup.list(*QUOTA, review.namespace)
    if review.gates.enabled(quota_tree.GATE):
        found = [quota for quota in found if _selector(quota) is None] + await _parents(review)
    return [quota for quota in found if any(name in _overall(quota) for name in more)]


async def _parents(review: Review) -> list[JSONObject]:
    """The quotas that select the namespace of a booking, by name: concurrent bookings meet at the same one first."""
    selecting = [quota for quota in await review.lookup.list(*QUOTA, SYSTEM_NAMESPACE) if _selector(quota) is not None]
    if not selecting:
        return []
    labels = await review.lookup.labels_of(review.namespace)
    chosen = [quota for quota in selecting if (found := _selector(quota)) is not None and found.matches(labels)]
    return sorted(chosen, key=_name)


def _selector(quota: JSONObject) -> Selector | None:
    return quota_tree.selector_of(quota["metadata"]["namespace"], quota["metadata"].get("annotations"))


def _check(quota: JSONObject, more: Amounts) -> None:
    overall, used = _overall(quota), _used(quota, more)
    for name in sorted(more):
        limit = Quantity.parse(overall[name]) if name in overall else None
        after = used.get(name, ZERO)
        if limit is not None and limit < after:
            metadata = quota["metadata"]
            raise Denied(
                f"FederatedResourceQuota({metadata['namespace']}/{metadata['name']}) exceeded for resource {name}: "
                f"requested sum {after}, limit {limit}.",
                reason="QuotaExceeded",
            )


async def _write(review: Review, quota: JSONObject, more: Amounts) -> None:
    spelled = {name: str(amount) for name, amount in _used(quota, more).items()}
    before = {field: value for field, value in (quota.get("status") or {}).items() if field != "overallUsed"}
    changed = {**quota, "status": {**before, "overallUsed": spelled} if spelled else before}
    await review.lookup.replace_status(*QUOTA, changed, review.dry_run)


def _used(quota: JSONObject, more: Amounts) -> Amounts:
    """What is used after a booking."""
    return plus((quota.get("status") or {}).get("overallUsed") or {}, more, _overall(quota))


def _overall(quota: JSONObject) -> JSONObject:
    return (quota.get("spec") or {}).get("overall") or {}


def _name(quota: JSONObject) -> str:
    return f"{quota['metadata']['namespace']}/{quota['metadata']['name']}"
