"""The parcel service."""
