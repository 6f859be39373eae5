"""Sweeps: many points, many seeds."""
