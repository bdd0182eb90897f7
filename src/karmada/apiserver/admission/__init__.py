"""Admission: what may change or refuse a write after authorisation and before the store."""
