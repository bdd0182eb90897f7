"""Resource selectors of namespaced policies stay in the namespace of their policy."""

from collections.abc import Iterable, Sequence

from karmada.api.field_errors import FieldError, invalid
from karmada.api.policy.v1alpha1 import ResourceSelector
from karmada.webhook.model import JSONObject, Review


def place_selectors(review: Review, selectors: Iterable[JSONObject]) -> None:
    """Write the namespace of the policy into selectors that name none, unless the object keeps its lists."""
    for selector in selectors if not review.keeps_lists else ():
        if not selector.get("namespace"):
            selector["namespace"] = review.namespace


def selector_errors(review: Review, selectors: Sequence[ResourceSelector]) -> list[FieldError]:
    """Selectors that name another namespace than that of their policy."""
    allowed = {review.namespace, ""} if review.keeps_lists else {review.namespace}
    detail = "namespace of resource selector must be the same as the namespace of the policy"
    return [
        invalid(f"spec.resourceSelectors[{index}].namespace", selector.namespace, detail)
        for index, selector in enumerate(selectors)
        if review.namespace and selector.namespace not in allowed
    ]
