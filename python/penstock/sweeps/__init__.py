"""Sweeps: grids, lists and samples over any key of a scenario, times seeds, on any engine.

`penstock.sweep(...)` is `drive.sweep`. Modules: `tasks` (a run as engines see it), `drive` (what is
to run, and threads), `on_dask` (a cluster), `design` (samples), `statistics`, `warm_up` (whether
measuring starts too early), `store` (what is kept), `show` (tables, figures, CSV).
"""
