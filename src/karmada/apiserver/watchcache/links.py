"""Keys of objects by their uid and by the uids of their owners: what the garbage collector asks for."""

from karmada.apiserver.watchcache.model import Indexed


class Links:
    """Kept up to date by `change`."""

    def __init__(self) -> None:
        self.by_uid: dict[str, str] = {}
        """Key of each object by its uid."""
        self.owned: dict[str, set[str]] = {}
        """Keys of the dependents by the owner's uid."""

    def change(self, key: str, old: Indexed | None, new: Indexed | None) -> None:
        """The object at a key has another index, or is there for the first time or no longer."""
        if old is not None and new is not None and old.uid == new.uid and old.owners == new.owners:
            return
        if old is not None:
            if self.by_uid.get(old.uid) == key:
                del self.by_uid[old.uid]
            for owner in set(old.owners):
                dependents = self.owned[owner]
                dependents.discard(key)
                if not dependents:
                    del self.owned[owner]
        if new is not None:
            if new.uid:
                self.by_uid[new.uid] = key
            for owner in new.owners:
                self.owned.setdefault(owner, set()).add(key)
