"""
The exceptions that the public functions raise.

    LineageError
    ├── RegistrationError      the listener could not be attached to a session
    │   └── NotAskedForError   lineage is not configured, or is switched off
    └── ProbeError             the driver's JVM refused a call of the listener, or does not answer

Delivery errors have their own root, `DeliveryError`, because `transport` imports nothing from the rest of this package.
Only authors of transports see them, never a job.
"""

from __future__ import annotations


class LineageError(Exception):
    """The base class of the exceptions that users of this package may see."""


class RegistrationError(LineageError):
    """The listener could not be attached to the session."""


class NotAskedForError(RegistrationError):
    """Lineage is not configured, or is switched off."""


class ProbeError(LineageError):
    """The driver's JVM can't load the probe, refuses a call or does not answer."""
