"""ServiceAccount."""

from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.shape import objects


def rules(_: Settings) -> KindRules:
    return KindRules(retain=retain)


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """Tokens and pull secrets that the member has added stay."""
    for field in ("secrets", "imagePullSecrets"):
        ours = objects(desired, field) or []
        names = {entry.get("name") for entry in ours}
        theirs = {entry.get("name"): entry for entry in objects(observed, field) or ()}
        added = [entry for name, entry in theirs.items() if name not in names]
        if added:
            desired[field] = [*ours, *added]
    return desired
