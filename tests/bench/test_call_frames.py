"""One oracle call stays short: from the command line to the start of the tool."""

from bench.call_frames import frames_of_a_call

MOST = 20


def test_a_call_crosses_few_of_our_functions() -> None:
    threads = frames_of_a_call()
    frames = [f"{frame.module}:{frame.name}" for thread in threads for frame in thread]

    assert len(threads) == 3, "the command, its step, its call"
    assert len(frames) <= MOST, frames
