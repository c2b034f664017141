"""The pure half has no clock, so neither have its tests: a loaded machine fails none of them."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "pure", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pure")
