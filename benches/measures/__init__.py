"""What `make bench` measures: a module for each kind of measurement, and what they share."""
