"""When an event is tried again, and when a receiver is left alone."""

from __future__ import annotations

from openlineage_pyspark.transport.attempt import Breaker, RetryPolicy

POLICY = RetryPolicy()


def test_the_wait_is_drawn_from_nothing_to_a_bound_that_doubles_up_to_the_longest() -> None:
    for attempts, bound in ((1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 5.0), (1000, 5.0)):
        drawn = [POLICY.delay(attempts, None) for _ in range(300)]
        assert 0.0 <= min(drawn) < bound / 4
        assert bound * 3 / 4 < max(drawn) <= bound


def test_what_the_receiver_asks_for_is_kept_up_to_five_minutes() -> None:
    assert POLICY.delay(1, 7.0) == 7.0
    assert POLICY.delay(1, 3600.0) == 300.0
    assert POLICY.pause(1, 3600.0) == 300.0


def test_a_receiver_is_away_after_four_attempts_without_an_answer() -> None:
    breaker = Breaker(POLICY)
    for _ in range(3):
        breaker.failed(0.0, answered=False, asked=None)
    assert not breaker.is_open
    assert breaker.pause(0.0) == 0.0
    breaker.failed(0.0, answered=False, asked=None)
    assert breaker.is_open
    assert 0.0 <= (breaker.pause(0.0) or 0.0) <= 1.0


def test_a_receiver_that_answers_is_away_after_eight_attempts_and_an_answer_in_between_begins_anew() -> None:
    breaker = Breaker(POLICY)
    for _ in range(7):
        breaker.failed(0.0, answered=True, asked=None)
    assert not breaker.succeeded()
    for _ in range(7):
        breaker.failed(0.0, answered=True, asked=None)
    assert not breaker.is_open
    breaker.failed(0.0, answered=True, asked=None)
    assert breaker.is_open


def test_a_receiver_that_is_away_gets_one_attempt_at_a_time_with_pauses_up_to_a_minute() -> None:
    breaker = Breaker(RetryPolicy(unanswered=1))
    now = 0.0
    pauses = []
    breaker.failed(now, answered=False, asked=None)
    for _ in range(60):
        pause = breaker.pause(now)
        assert pause is not None
        pauses.append(pause)
        now += pause
        assert breaker.pause(now) == 0.0
        breaker.began()
        assert breaker.pause(now) is None
        breaker.failed(now, answered=False, asked=None)
    assert 30 < max(pauses) <= 60
    breaker.hurry(now)
    assert breaker.pause(now) == 0.0
    breaker.began()
    assert breaker.succeeded()
    assert not breaker.is_open
    assert breaker.pause(now) == 0.0


def test_attempts_that_were_under_way_when_it_was_found_away_do_not_lengthen_the_pause() -> None:
    breaker = Breaker(RetryPolicy(unanswered=1, first_seconds=100.0))
    breaker.failed(0.0, answered=False, asked=None)
    pause = breaker.pause(0.0)
    breaker.failed(0.0, answered=False, asked=None)
    assert breaker.pause(0.0) == pause


def test_nobody_hurries_a_receiver_that_asked_to_be_left_alone() -> None:
    breaker = Breaker(POLICY)
    breaker.failed(0.0, answered=True, asked=60.0)
    assert breaker.was_asked_for
    breaker.hurry(0.0)
    assert breaker.pause(0.0) == 60.0


def test_an_attempt_that_was_not_made_after_all_leaves_room_for_the_next() -> None:
    breaker = Breaker(RetryPolicy(unanswered=1, longest_pause_seconds=0.0))
    breaker.failed(0.0, answered=False, asked=None)
    breaker.began()
    assert breaker.pause(0.0) is None
    breaker.stopped()
    assert breaker.pause(0.0) == 0.0
