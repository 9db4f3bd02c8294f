# SPDX-License-Identifier: Apache-2.0
"""TensorBoard reads the quickstart's events with both of its loaders, and sees no zigzag after kills."""

import io
import random
import struct
import subprocess
import time

import pytest
from tensorboard import context
from tensorboard.backend.event_processing import plugin_event_multiplexer
from tensorboard.data import server_ingester
from tensorboard.util import grpc_util, tensor_util


def multiplexer(folder):
    reader = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0, "histograms": 0, "images": 0})
    reader.AddRunsFromDirectory(str(folder))
    reader.Reload()
    return reader


def python_scalars(folder):
    """tag -> [(step, value)] as the Python loader sees it."""
    reader = multiplexer(folder)
    (run,) = reader.Runs()
    scalars = reader.PluginRunToTagToContent("scalars")[run]
    return {tag: [(event.step, tensor_util.make_ndarray(event.tensor_proto).item()) for event in reader.Tensors(run, tag)] for tag in scalars}


def server_scalars(folder):
    """The same as the data server's binary sees it."""
    ingester = server_ingester.SubprocessServerDataIngester(
        server_binary=server_ingester.get_server_binary(), logdir=str(folder), reload_interval=1, channel_creds_type=grpc_util.ChannelCredsType.LOCAL,
        samples_per_plugin={"scalars": 100_000})
    ingester.start()
    provider, request = ingester.data_provider, context.RequestContext()
    deadline = time.monotonic() + 60
    while not provider.list_scalars(request, experiment_id="", plugin_name="scalars"):
        assert time.monotonic() < deadline, "the data server found nothing"
        time.sleep(0.1)
    (tags,) = provider.read_scalars(request, experiment_id="", plugin_name="scalars", downsample=100_000).values()
    return {tag: [(datum.step, datum.value) for datum in data] for tag, data in tags.items()}


LOADERS = pytest.mark.parametrize("scalars", [python_scalars, server_scalars])


@LOADERS
def test_scalars_arrive_at_the_steps_they_belong_to(trained, scalars):
    found = scalars(trained)
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
    """A run that was killed twice, at moments that differ, and then ended; beside it one that was never killed."""
    folder = tmp_path_factory.mktemp("killed")
    arguments = ["--steps", "1500", "--save-steps", "100", "--seed", "3"]
    command = [str(programs / "quickstart"), "--model-dir", str(folder / "killed"), *arguments]
    for kill in range(2):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wanted = 300 + 400 * kill + random.randrange(100)
        deadline = time.monotonic() + 120
        while process.poll() is None and not any(int(path.stem.split("-")[1]) >= wanted for path in (folder / "killed").glob("model.ckpt-*.index")):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        assert process.poll() is None, "the run ended before it could be killed"
        process.kill()
        process.wait()
    quickstart(folder / "killed", *arguments)
    quickstart(folder / "whole", *arguments)
    return folder


@LOADERS
def test_a_run_that_was_killed_twice_shows_the_curves_of_one_that_was_not(killed_twice, scalars):
    killed, whole = scalars(killed_twice / "killed"), scalars(killed_twice / "whole")
    assert len(list((killed_twice / "killed").glob("events.*"))) == 3
    for tag in ("loss_by_step", "batch_accuracy"):
        steps = [step for step, _ in killed[tag]]
        assert steps == sorted(set(steps)), tag
        assert dict(killed[tag]).items() >= dict(whole[tag]).items() or killed[tag] == whole[tag], tag
