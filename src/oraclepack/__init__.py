"""oraclepack: packs of hard questions in, verified answers and planned work out."""

__version__ = "0.2.0"
