"""Sweeps: grids, lists and samples over any key of a scenario, times seeds, on any engine."""
