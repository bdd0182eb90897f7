"""Group server: serves API groups (`LocalApi`) beside an API server that knows every user.

- `server`: `GroupServer`, the server itself
- `trust`: whose certificates it believes, and how that is read from flags and from the API server
- `tokens`: whose bearer tokens are, by TokenReview
- `flags`: the flags that every program around a group server has
- `program`: what such a program does with them

A component describes its groups once, as a `LocalApi`. The same object is served by a `GroupServer` where the component
is a program of its own, and by the embedded API server in `karmada up` (`ApiServerOptions.apis`), which registers its
APIServices.
"""

from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.groupserver.server import GroupServer
from karmada.apiserver.groupserver.trust import Serving, Trust

__all__ = ["GroupServer", "LocalApi", "Serving", "Trust"]
