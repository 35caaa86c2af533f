"""The version of Privet, for whoever names it in what they write."""

__version__ = "0.1.0"
