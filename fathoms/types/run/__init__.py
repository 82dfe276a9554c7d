"""The format of runs on disk: what is written is made of these types, and what is read becomes them.

A field is a key of the file, with its meaning below it. The JSON Schemas in `docs/schemas` are generated from
these types. A later version may add keys under the same `schema` number, which increases only when a key
changes its meaning or is removed; unknown keys are therefore kept.
"""
