"""What a batch returns: the results of a world, with the copy that each row is of."""

from __future__ import annotations

from dataclasses import dataclass, fields

from thud._core.arrays import Ints
from thud.results import WorldContacts, WorldEvents
from thud.world.step_contacts import StepContacts


@dataclass(frozen=True, slots=True, repr=False)
class BatchContacts(WorldContacts):
    """Contact points of all copies, M in all, copy by copy; handles and rows are those of the world."""

    copy: Ints
    """(M,) the copy that each point is of."""
    pair_copy: Ints
    """(P,) the copy that each pair is of."""

    _beside = (*WorldContacts._beside, ("pair_copy", ""))


@dataclass(slots=True, eq=False, repr=False)
class BatchStepContacts(StepContacts):
    """Contacts of a step of all copies, M in all, copy by copy; handles are those of the world."""

    copy: Ints
    """(M,) the copy that each point is of."""


def step_contacts_of(contacts: StepContacts, handle_a: Ints, handle_b: Ints, copy: Ints) -> BatchStepContacts:
    """With other handles; the arrays are the same, not copies."""
    shown = {field.name: getattr(contacts, field.name) for field in fields(StepContacts)}
    return BatchStepContacts(**{**shown, "handle_a": handle_a, "handle_b": handle_b, "copy": copy})


@dataclass(frozen=True, slots=True, repr=False)
class BatchEvents(WorldEvents):
    """Pairs that began to touch, go on or ended, E in all, copy by copy; handles are those of the world."""

    copy: Ints
    """(E,) the copy that each event is of."""
