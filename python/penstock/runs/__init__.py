"""Running scenarios, and what comes back."""
