"""`python -m karmada.api.crd`: write the CRD manifests."""

from karmada.api.crd.files import write

if __name__ == "__main__":
    write()
