# SPDX-License-Identifier: Apache-2.0
"""What ProfilerHook writes: a timeline as TensorFlow draws it from the same run metadata, which TensorBoard reads."""

import json

import pytest
from tensorboard.backend.event_processing import event_accumulator
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import timeline

DEVICE = "/device:CPU:0"


@pytest.fixture(scope="module")
def profile(programs, run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    run(programs / "continue_training", "--save", folder / "model.ckpt", "--steps", 5, "--profile", folder / "profile")
    return folder / "profile"


@pytest.fixture(scope="module")
def events(profile):
    return event_accumulator.EventAccumulator(str(profile)).Reload()


def bars(trace):
    """The executed nodes of a Chrome trace, in order of time. Without process and thread numbers: each writer counts processes in its own
    way, and TensorFlow takes a new lane already where one node begins in the microsecond in which another one ends."""
    assert trace["traceEvents"][0]["ph"] == "M"
    found = [{key: event[key] for key in ("name", "cat", "ts", "dur", "args")} for event in trace["traceEvents"] if event["ph"] == "X"]
    return sorted(found, key=lambda event: (event["ts"], event["args"]["name"]))


def test_every_second_step_has_a_timeline_and_run_metadata(profile, events):
    assert sorted(path.name for path in profile.glob("timeline-*")) == ["timeline-2.json", "timeline-4.json"]
    assert sorted(events.Tags()["run_metadata"]) == ["step_2", "step_4"]


def test_timeline_is_what_tensorflow_draws_from_our_run_metadata(profile, events, measured):
    for step in (2, 4):
        metadata = config_pb2.RunMetadata.FromString(events.RunMetadata(f"step_{step}").SerializeToString())
        (device,) = metadata.step_stats.dev_stats
        assert device.device == DEVICE
        ours = bars(json.loads((profile / f"timeline-{step}.json").read_text()))
        theirs = bars(json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_dataflow=True)))
        assert ours == theirs
        assert {bar["name"] for bar in ours} >= {"IteratorGetNext", "MatMul", "ApplyAdam"}
        measured(f"profile of step {step}: {len(ours)} nodes as TensorFlow draws them")
