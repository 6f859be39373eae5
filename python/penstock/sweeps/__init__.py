"""Sweeps: grids, lists and samples over any key of a scenario, times seeds, on any engine.

`penstock.sweep(...)` is `sweep.sweep`. Running: `tasks` (a run as engines see it), `drive` (what is to run, and
threads), `until` (when a point has seeds enough), `on_dask` (a cluster), `design` (samples), `warm_up` (whether the
measured window starts too early). Keeping: `store` (a package). Showing: `show` (which numbers), `values` (of axes),
`tables`, `figure`, `export` (CSV).
"""
