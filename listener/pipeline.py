"""
The path of one event, in one file: record, plan, analysis, run, event, delivery.

Each stage takes and returns typed values. Nothing here depends on threads or time limits: `worker` calls `take` for
each record, on the listener's own thread, and guards the call.
"""

from __future__ import annotations

import datetime
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import attrs
from openlineage_pyspark.facets.events.build import event_of
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.providers import Contribution, Provider, contribute, failed
from openlineage_pyspark.facets.model.lineage import Certainty
from openlineage_pyspark.facets.model.run import PATHS, CallSite, Failure, Gap, RedactedState, RunState
from openlineage_pyspark.facets.redaction.rows import shown_messages
from openlineage_pyspark.listener.analyses import Analyses
from openlineage_pyspark.listener.guard import CaughtException, Guard
from openlineage_pyspark.listener.probe.records import (
    ApplicationEnded,
    EventsDropped,
    ExecutionEnded,
    ExecutionStarted,
    ProbeFault,
    RddJobEnded,
    Record,
    call_site,
    parse,
)
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.runs.assemble import Runs
from openlineage_pyspark.listener.runs.executions import NestedRecordBuffer, RecordStep
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import TERMINAL_TYPES, Event, dataset_keys

_MOST_GAPS = 1000
_MOST_MESSAGES = 100


class Pipeline:
    """
    Turns the probe's records into events and hands them to the delivery.

    Attributes:
        events: how many events were handed to the delivery.
        dropped: how many events Spark dropped because the listener's queue was full.
        runs: how many runs inside the application have ended.
        edges: how many edges between columns their terminal events have.
        edges_in_doubt: how many of these edges are not certain, or belong to a run with a diagnostic.
        gap_count: how many diagnostics those events have.
        code: kind of code that can't be read -> how often the plans of those runs contain it.
        gaps: the distinct gaps that the events report; only the first 1000 are kept.
        ended: when the context ended (timezone-aware); None while it runs.
        last: the final state of the run inside the application that ended most recently; None before one has ended.
    """

    def __init__(
        self,
        application: Application,
        options: EventOptions,
        providers: Iterable[Provider],
        delivery: Delivery | FanOut,
        guard: Guard,
        entrust: Callable[[tuple[Event, ...]], None] = lambda _starts: None,
        call_site_of: Callable[[int], CallSite | None] = lambda _execution: None,
    ) -> None:
        """
        Start with no runs.

        Args:
            application: the application that the runs belong to.
            options: options for the content of events.
            providers: the providers of the user's own facets.
            delivery: ships the events.
            guard: catches faults in a plan or a provider.
            entrust: called with the STARTs of all open runs whenever they change, so that the JVM can end the runs if
                this process is killed.
            call_site_of: returns the line of Python that runs an execution; None if it is unknown.
        """
        self.events = self.dropped = 0
        self.runs = self.edges = self.edges_in_doubt = self.gap_count = 0
        self.code: Counter[str] = Counter()
        self.gaps: dict[Gap, None] = {}
        self.ended: datetime.datetime | None = None
        self.last: RedactedState | None = None
        self._application = application
        self._options = options
        self._providers = [functools.partial(self._contribution, each) for each in providers]
        self._delivery = delivery
        self._guard = guard
        self._entrust = entrust
        self._call_site_of = call_site_of
        self._open: dict[str, Event] = {}
        self._nested = NestedRecordBuffer()
        self._messages: dict[str, str] = {}
        self._analyses = Analyses(
            application.metastore,
            guard,
            application.trimming,
            views=application.views,
            paths=options.steps == "all",
            place=self._place,
            composed=options.descriptions == "composed",
            fields=options.struct_fields,
        )
        self._runs = Runs(application)

    def take(self, text: str) -> None:
        """Process one record of the probe, and ship the events that it completes."""
        record = parse(text)
        if isinstance(record, ExecutionStarted):
            record = attrs.evolve(record, call_site=self._call_site_of(record.id) or record.call_site)
        match record:
            case ProbeFault():
                self._guard.report(f"the probe ({record.where})", RuntimeError(record.message))
            case EventsDropped():
                self.dropped = record.count
            case ExecutionEnded(failure=Failure() as failure) | RddJobEnded(failure=Failure() as failure):
                self._remember(failure)
            case ApplicationEnded():
                self.ended = record.time
        for state in self.states(record):
            self.ship(state)

    def states(self, record: Record) -> list[RunState]:
        """Return the run states that a record produces, in order."""
        return [state for step in self._nested.in_order(record) for state in self._after(step)]

    def due(self, now: datetime.datetime) -> list[RunState]:
        """
        Return the states that are due although no record has caused them: those with the micro-batches of streams.

        Args:
            now: the time (timezone-aware).
        """
        return self._runs.due(now)

    def abandon(self, time: datetime.datetime, lost: int = 0) -> list[RunState]:
        """
        Return the states that were held back for records that will never come, and the ends of all open runs.

        Args:
            time: when the application ended (timezone-aware).
            lost: how many records the probe dropped.
        """
        late = [state for step in self._nested.release_all() for state in self._after(step)]
        return [*late, *self._runs.abandon(time, self.dropped, lost)]

    def _after(self, step: RecordStep) -> list[RunState]:
        plan_lineage = self._analyses.of(step, wanted=self._runs.wants_plan(step))
        return self._runs.feed(step, plan_lineage)

    def ship(self, state: RunState) -> None:
        """Make the event of a state, which includes the redaction, and hand the event to the delivery."""
        event = event_of(state, self._options, self._messages, self._providers)
        made = transport_event(event.state, event.body, event.identity, self._application.run.run_id)
        # A run has one terminal event: once it is made here, no other process may make it.
        if made.event_type in TERMINAL_TYPES and self._open.pop(made.run_id, None) is not None:
            self._entrust(tuple(self._open.values()))
        self._delivery.submit(made)
        if made.event_type == "START":
            self._open[made.run_id] = made
            self._entrust(tuple(self._open.values()))
        self.events += 1
        if len(self.gaps) < _MOST_GAPS:
            self.gaps.update(dict.fromkeys(event.gaps))
        if made.event_type in TERMINAL_TYPES and made.parent_run_id is not None:
            self._count(event.state, event.gaps)
            self.last = event.state

    def _count(self, ended: RunState, gaps: Sequence[Gap]) -> None:
        lineages = [output.lineage for output in ended.outputs if output.lineage is not None]
        edges = [edge for each in lineages for edge in each.edges]
        self.runs += 1
        self.edges += len(edges)
        in_doubt = any(gap.task != PATHS for gap in gaps)
        self.edges_in_doubt += len(edges) if in_doubt else sum(edge.certainty is not Certainty.EXACT for edge in edges)
        self.gap_count += len(gaps)
        self.code.update(dict(ended.code))

    def _place(self, text: str) -> str:
        """Return the line of Python that made a column, as events name it; empty if events do not name it."""
        site = call_site(text) if self._application.call_sites != "none" else None
        return "" if site is None else str(site.relative(self._application.source_location))

    def withdraw(self) -> None:
        """Cancel the ending of open runs by another process: the application is ending in order."""
        self._entrust(())
        self._entrust = lambda _starts: None

    def _remember(self, failure: Failure) -> None:
        """Keep the messages that may quote rows, because the exception that ends the script may repeat them."""
        for message, shown in shown_messages(failure, self._messages).items():
            if len(self._messages) < _MOST_MESSAGES:
                self._messages[message] = shown

    def _contribution(self, provider: Provider, state: RedactedState) -> Contribution:
        made = self._guard.attempt(f"facets of {provider.name}", contribute, provider, state)
        return failed(provider, made.name) if isinstance(made, CaughtException) else made


def transport_event(state: RunState, body: bytes, identity: str, application: str) -> Event:
    """
    Return the event to deliver for a state.

    Args:
        state: the state of a run.
        body: the state's event as JSON.
        identity: the event's id.
        application: id of the application's run, which is the parent of all others; its START is sent first.
    """
    parent = None if state.run_id == application else application
    read = [(each.dataset.identifier.namespace, each.dataset.identifier.name) for each in state.inputs]
    written = [(each.dataset.identifier.namespace, each.dataset.identifier.name) for each in state.outputs]
    return Event(state.run_id, state.event_type, body, parent, identity, dataset_keys(read), dataset_keys(written))
