"""Secret."""

from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import texts


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """The member's controller fills in the tokens of service accounts."""
    if desired.get("type") == "kubernetes.io/service-account-token":
        data = texts(observed, "data")
        if data is not None:
            desired["data"] = data
    return desired
