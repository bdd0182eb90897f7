"""The version of this distribution, and the image that has all its programs."""

VERSION = "0.1.0"
IMAGE = f"karmada:{VERSION}"
IMAGE_VARIABLE = "KARMADA_IMAGE"
"""Environment variable that names another image, for every command that writes one into a cluster."""
