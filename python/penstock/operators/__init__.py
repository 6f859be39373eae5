"""Turns a scenario into the configuration of a router, and back.

`wanted` reads what a scenario asks of its bottleneck. Each platform is a module with a function
that writes it down as that platform takes it (`Written`), with the values that the box will really
use, or refuses it with the reason. `platforms` lists them. `simulate` runs what the box will do
beside what was wanted.
"""
