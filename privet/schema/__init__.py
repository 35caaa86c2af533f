"""The declared domain of a table: bounds, categories and classes that a person named, in TOML.

A schema turns a table of ages, wards and diagnoses into rows of the unit ball without measuring
anything: each encoded row is a function of that row and the declarations. Privacy is not spoken of
here, only its premise.
"""

from privet.schema.columns import Categorical, Column, Effect, Label, Numeric
from privet.schema.declarations import Tolerance
from privet.schema.draft import draft
from privet.schema.encode import Encoded
from privet.schema.file_format import FileFormat
from privet.schema.look import Look
from privet.schema.persons import Person
from privet.schema.schema import Schema
from privet.schema.target import Target

__all__ = [
    "Categorical",
    "Column",
    "Effect",
    "Encoded",
    "FileFormat",
    "Label",
    "Look",
    "Numeric",
    "Person",
    "Schema",
    "Target",
    "Tolerance",
    "draft",
]
