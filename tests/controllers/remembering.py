"""Records that outlive a controller-manager: what a test has in place of a disk."""


class Remembered:
    """Records in memory; `known` is what a process that starts next finds."""

    def __init__(self, known=()):
        self.known = dict(known)

    async def load(self):
        return dict(self.known)

    async def write(self, changed):
        for key, record in changed.items():
            if record is None:
                self.known.pop(key, None)
            else:
                self.known[key] = record
