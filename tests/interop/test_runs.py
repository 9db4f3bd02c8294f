# SPDX-License-Identifier: Apache-2.0
"""What our hooks write of a run, as others read it: the HPARAMS tab of TensorBoard, the best checkpoint as TensorFlow's latest one, logs in
Python's csv and json."""

import csv
import json
import math

import pytest
import tensorflow as tf
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

LOSSES = {"a": [abs(2 - 0.25 * step) for step in range(13)], "b": [abs(2 - 0.5 * step) for step in range(13)]}


@pytest.fixture(scope="module")
def folder(programs, run, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    run(programs / "write_runs", path)
    return path


def test_the_hparams_tab_has_a_row_for_each_run(folder):
    events = plugin_event_multiplexer.EventMultiplexer()
    events.AddRunsFromDirectory(str(folder))
    events.Reload()
    provider = data_provider.MultiplexerDataProvider(events, str(folder))
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider, logdir=str(folder)))
    request = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=10, allowed_statuses=[api_pb2.STATUS_SUCCESS])
    groups = list_session_groups.Handler(context.RequestContext(), backend, "", request).run().session_groups
    rows = {group.sessions[0].name: group for group in groups}
    assert sorted(rows) == ["a", "b"]
    for name, rate, nesterov in (("a", 0.25, False), ("b", 0.5, True)):
        row = rows[name]
        assert row.hparams["rate"].number_value == rate
        assert row.hparams["optimizer"].string_value == "sgd"
        assert row.hparams["nesterov"].bool_value is nesterov
        assert row.sessions[0].end_time_secs >= row.sessions[0].start_time_secs > 0
        metrics = {(value.name.group, value.name.tag): value.value for value in row.metric_values}
        assert metrics[("eval", "loss")] == LOSSES[name][12]


@pytest.mark.parametrize("name, step", [("a", 9), ("b", 3)])
def test_the_best_checkpoint_is_the_latest_one_of_its_directory(folder, name, step):
    prefix = tf.train.latest_checkpoint(str(folder / name / "best"))
    assert prefix.endswith(f"best/model.ckpt-{step}")
    reader = tf.train.load_checkpoint(prefix)
    assert reader.get_tensor("global_step") == step
    assert abs(2 - reader.get_tensor("weight")[0]) == LOSSES[name][step] == min(LOSSES[name][3::3])
    state = tf.train.get_checkpoint_state(str(folder / name / "best"))
    assert len(state.all_model_checkpoint_paths) == 2


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_logs_have_a_row_for_each_step_that_is_due(folder, name):
    with open(folder / name / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    objects = [json.loads(line) for line in (folder / name / "log.jsonl").read_text().splitlines()]
    steps = [step for step in range(1, 13) if step % 2 == 0 or step % 3 == 0]
    assert [int(row["step"]) for row in rows] == [entry["step"] for entry in objects] == steps
    for row, entry in zip(rows, objects):
        step = entry["step"]
        assert ("loss" in entry) == (row["loss"] != "") == (step % 2 == 0)
        assert ("eval/loss" in entry) == (row["eval/loss"] != "") == (step % 3 == 0)
        if step % 2 == 0:
            assert float(row["loss"]) == entry["loss"] == LOSSES[name][step]
            assert row["note"] == entry["note"] and entry["note"].endswith('", and\nmore')
        if step % 3 == 0:
            assert float(row["eval/loss"]) == entry["eval/loss"] == LOSSES[name][step]
    assert math.isinf(float(rows[0]["ratio"])) and objects[0]["ratio"] == "Infinity"
