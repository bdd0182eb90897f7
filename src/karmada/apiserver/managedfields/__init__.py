"""Field ownership: who set which field, kept with every write, and server-side apply on top of it.

Pure functions on decoded objects. Order in the pipeline: decode and default, then `track_update` or `apply`, then
mutating admission and the strategy's `prepare_*` (what those add belongs to nobody), then validation.
"""

from karmada.apiserver.managedfields.apply import apply
from karmada.apiserver.managedfields.conflicts import ApplyConflict
from karmada.apiserver.managedfields.reset import reset_fields
from karmada.apiserver.managedfields.scale import scale_config
from karmada.apiserver.managedfields.track import track_update

__all__ = ["ApplyConflict", "apply", "reset_fields", "scale_config", "track_update"]
