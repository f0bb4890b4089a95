"""
What the public functions raise.

    LineageError
    ├── RegistrationError      the listener could not be attached to a session
    │   └── NotAskedForError   lineage is not configured, or is switched off
    └── ProbeError             the driver's JVM refused what the listener asked of it, or does not answer

Errors of delivery have a root of their own, `DeliveryError`, because `transport` imports nothing of the rest of this
package. They reach the authors of transports, never a job.
"""

from __future__ import annotations


class LineageError(Exception):
    """The root of what this package raises in the face of its users."""


class RegistrationError(LineageError):
    """The listener could not be attached to the session."""


class NotAskedForError(RegistrationError):
    """Lineage is not configured, or is switched off."""


class ProbeError(LineageError):
    """The driver's JVM can't load the probe, refuses a call, or does not answer."""
