"""Describes what is simulated: a scenario, the classes of its tables, and disciplines written in Python."""
