"""Who is asking, and may they: authentication, RBAC, certificates and tokens."""
