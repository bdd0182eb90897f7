"""An index without a file of its own cleans up after itself, also where it never ran."""

import gc

from karmada.search.fulltext import FullText


def test_an_index_that_never_ran_goes_without_a_warning() -> None:
    """A control plane that ends at once cancels the index before it begins; pytest fails on a ResourceWarning."""
    index = FullText()
    del index
    gc.collect()
