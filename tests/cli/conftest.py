from tests.cli.people import people

__all__ = ["people"]
