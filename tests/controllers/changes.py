"""Changes as informers report them, made of objects that tests describe."""

from karmada.api.codec import encode
from karmada.machinery.codec import structs
from karmada.machinery.informers.cache import Change, Item, Key


def item(value, uid="u"):
    """A cached state of an object; None for none."""
    if value is None:
        return None
    metadata = value.metadata
    return Item(Key(metadata.namespace, metadata.name), uid, "1", encode(value), structs(type(value)))


def change(old, new, initial=False):
    """From one state to another one; None for an object that does not exist."""
    return Change(item(old), item(new), initial)
