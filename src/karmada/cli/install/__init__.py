"""A control plane in a host cluster: `manifests` are made without I/O, `carrying_out` writes or shows them."""
