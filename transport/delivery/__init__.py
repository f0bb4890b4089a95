"""
Delivery of events to one receiver in the background: what happens to an event, also when the receiver is down.

`Delivery` (`worker`) owns one `Backlog`, one `Breaker` and the sending threads. An event moves through these states:

    submitted --> waiting --> in flight --> sent       the receiver took it; it is deleted from the spool
                   ^    |        |  |
                   |    |        |  +-----> failed     refused for good; it moves to the spool's dead letters
                   |    |        |
                   |    |        +--------> dropped    the spool can no longer be read
                   |    +-----------------> dropped    there was no room for it
                   +-------------+                     the attempt failed, a later one may succeed

- Submitting appends the event to the spool (if there is one) and to the `RunQueue`; it never waits for the receiver.
  A disk that refuses a write is tried again with the next event; until then memory holds up to 64 MiB of events.
- The `RunQueue` (`queue`) hands out the events of one run in order, a child run after its parent's START, and a START
  after the `DatasetBarrier`: the ends of earlier runs that share datasets with it. Other runs overtake freely.
- A retryable failure delays its own run (random, doubling, up to 5 s; `RetryPolicy`). `Retry-After` is honoured up to
  5 minutes. An event that has failed 30 times while others got through counts as refused.
- 4 attempts in a row without an answer, or 8 with an answer that asks for a retry, open the `Breaker`: the receiver is
  unavailable. Then one probe goes out per pause (random, doubling, up to 60 s). The first final answer closes the
  breaker and makes all delayed events due. Meanwhile new events go to the queue and the spool.
- When the waiting events exceed the limit, the oldest runs that are complete in the queue (START to terminal event)
  are dropped. If
  that is not enough, the new event is dropped, and with it the rest of its run.
- Closing sends what it can within its timeout; a receiver that is unavailable gets one last attempt of at most 1 s.
  What is left stays in the spool, and the next application with this spool sends it first (`spool.recovery`). Without a
  spool it is lost. `DeliveryCounts` counts every event once: sent, failed, dropped (by `DropReason`) or pending.
"""
