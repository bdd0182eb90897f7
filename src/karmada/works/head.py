"""Which object a Work's manifest is, read without the rest of it: manifests have kilobytes, and reports of them ask for
nothing else."""

import msgspec

from karmada.api.work.v1alpha1 import Work


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str | None = None


class Head(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Kind and name of one object."""

    api_version: str = ""
    kind: str = ""
    metadata: _Metadata = _Metadata()

    @property
    def name(self) -> str:
        """The object's name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The object's namespace, empty where it has none."""
        return self.metadata.namespace or ""


_decoder = msgspec.json.Decoder(Head)


def head_of(work: Work, ordinal: int = 0) -> Head:
    """The head of a Work's manifest; raises `msgspec.DecodeError` for one that is no object."""
    return _decoder.decode(work.spec.workload.manifests[ordinal])
