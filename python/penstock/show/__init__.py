"""Numbers, tables and figures for a person to look at."""
