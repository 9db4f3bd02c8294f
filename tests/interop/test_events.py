# SPDX-License-Identifier: Apache-2.0
"""TensorBoard reads the quickstart's events with both of its loaders, and sees no zigzag after kills."""

import collections
import io
import os
import signal
import struct
import subprocess

import pytest
import tensorflow as tf
from tensorboard import context
from tensorboard.backend.event_processing import plugin_event_multiplexer
from tensorboard.util import tensor_util

from conftest import SOURCE


def multiplexer(folder):
    reader = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0, "histograms": 0, "images": 0})
    reader.AddRunsFromDirectory(str(folder))
    reader.Reload()
    return reader


def python_scalars(folder, _):
    """tag -> [(step, value)] as the Python loader sees it."""
    reader = multiplexer(folder)
    (run,) = reader.Runs()
    scalars = reader.PluginRunToTagToContent("scalars")[run]
    return {tag: [(event.step, tensor_util.make_ndarray(event.tensor_proto).item()) for event in reader.Tensors(run, tag)] for tag in scalars}


def server_scalars(folder, data_server):
    """The same as the data server's binary sees it."""
    request = context.RequestContext()
    provider = data_server(folder, {"scalars": 100_000}, lambda shown: shown.list_scalars(request, experiment_id="", plugin_name="scalars"))
    (tags,) = provider.read_scalars(request, experiment_id="", plugin_name="scalars", downsample=100_000).values()
    return {tag: [(datum.step, datum.value) for datum in data] for tag, data in tags.items()}


LOADERS = pytest.mark.parametrize("scalars", [python_scalars, server_scalars])


@LOADERS
def test_scalars_arrive_at_the_steps_they_belong_to(trained, data_server, scalars):
    found = scalars(trained, data_server)
    assert {"loss_by_step", "batch_accuracy"} <= found.keys()
    assert [step for step, _ in found["loss_by_step"]] == [1, 101, 201, 301, 401, 501]
    assert found["loss_by_step"][0][1] > found["loss_by_step"][-1][1]


def test_histograms_images_and_the_graph_are_there(trained):
    reader = multiplexer(trained)
    (run,) = reader.Runs()
    histograms = reader.PluginRunToTagToContent("histograms")[run].keys()
    assert {f"{name}/values" for name in ("hidden/kernel", "hidden/bias", "logits/kernel", "logits/bias")} <= histograms
    (tag,) = reader.PluginRunToTagToContent("images")[run]
    width, height, png = tensor_util.make_ndarray(reader.Tensors(run, tag)[0].tensor_proto)
    assert (width, height) == (b"112", b"112")
    assert struct.unpack(">II", io.BytesIO(png).getvalue()[16:24]) == (112, 112)
    assert "ApplyAdam" in {node.op for node in reader.Graph(run).node}


@pytest.fixture(scope="module")
def killed_twice(programs, quickstart, tmp_path_factory):
    """A run that was killed twice and then ended; beside it one that was never killed. Killed while it writes a checkpoint, when the events of
    all steps since the one before are on the disk; how fast the machine is does not matter."""
    folder = tmp_path_factory.mktemp("killed")
    library = folder / "kill_at.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE / "tests/kill/kill_at.c", "-ldl"], check=True)
    arguments = ["--steps", "1500", "--save-steps", "250", "--seed", "3", "--sync"]
    command = [str(programs / "quickstart"), "--model-dir", str(folder / "killed"), *arguments]
    for moment in ("rename:model.ckpt-750.index:1", "write:model.ckpt-1250:1"):
        environment = {**os.environ, "LD_PRELOAD": str(library), "KILL_DIR": str(folder / "killed"), "KILL_AT": moment}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False)
        assert done.returncode == -signal.SIGKILL, moment
    quickstart(folder / "killed", *arguments)
    quickstart(folder / "whole", *arguments)
    return folder


def test_a_run_that_was_killed_twice_wrote_steps_again(killed_twice):
    paths = list((killed_twice / "killed").glob("events.*"))
    assert len(paths) == 3
    written = collections.Counter(
        event.step for path in paths for event in tf.compat.v1.train.summary_iterator(str(path)) for value in event.summary.value if value.tag == "loss_by_step")
    assert sorted(written) == list(range(1, 1500, 100))
    assert sorted(step for step, times in written.items() if times == 2) == [501, 601, 701, 1001, 1101, 1201]


@LOADERS
def test_a_run_that_was_killed_twice_shows_the_curves_of_one_that_was_not(killed_twice, data_server, scalars):
    killed, whole = [scalars(killed_twice / name, data_server) for name in ("killed", "whole")]
    for tag in ("loss_by_step", "batch_accuracy"):
        assert [step for step, _ in whole[tag]] == list(range(1, 1500, 100))
        assert killed[tag] == whole[tag], tag
