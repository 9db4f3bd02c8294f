# SPDX-License-Identifier: Apache-2.0
"""Where the programs under test are, and what a case needs to run them."""

import collections
import contextlib
import logging
import os
import pathlib
import subprocess
import time

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.data import server_ingester
from tensorboard.util import grpc_util
from tensorflow.python.training import training_util

BUILD = pathlib.Path(os.environ["TRAINHOOK_BUILD"])
SOURCE = pathlib.Path(os.environ["TRAINHOOK_SOURCE"])

MEASURED = pytest.StashKey()
DEVIATIONS = pytest.StashKey()


def read_by_hooks():
    """What TensorFlow's hooks read of the global step, in the very run that increases it: a model that increases it after these gives them the
    step before, where it would otherwise depend on the load of the machine."""
    return [tf.compat.v1.train.get_global_step()._as_graph_element(), training_util._get_or_create_global_step_read()]


def pytest_configure(config):
    config.stash[MEASURED] = []
    config.stash[DEVIATIONS] = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0, 0.0]))


def pytest_terminal_summary(terminalreporter, config):
    """How much was compared, and how far the farthest lay apart."""
    for line in config.stash[MEASURED]:
        terminalreporter.write_line(line)
    for kind, dtypes in config.stash[DEVIATIONS].items():
        parts = [f"{dtype} {tensors} tensors, {numbers} numbers, at most {largest:.2g} apart"
                 for dtype, (tensors, numbers, largest) in sorted(dtypes.items()) if dtype in ("float32", "float64")]
        others = [tensors for dtype, (tensors, _, _) in dtypes.items() if dtype not in ("float32", "float64")]
        parts += [f"{sum(others)} tensors of {len(others)} other dtypes"] if others else []
        terminalreporter.write_line(f"{kind}: {'; '.join(parts)}")


@pytest.fixture(scope="session")
def deviation(pytestconfig):
    """deviation("ops", ours, theirs): counts the comparison, and notes the largest |ours - theirs| / max(1, |theirs|) of floats."""

    def note(kind, ours, theirs):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        entry = pytestconfig.stash[DEVIATIONS][kind][str(theirs.dtype)]
        entry[0] += 1
        entry[1] += theirs.size
        if theirs.dtype in (np.float32, np.float64) and ours.shape == theirs.shape and theirs.size > 0:
            with np.errstate(all="ignore"):
                distance = np.abs(ours.astype(np.float64) - theirs) / np.maximum(1, np.abs(theirs))
            entry[2] = max(entry[2], float(np.nan_to_num(distance, nan=0, posinf=0).max()))

    return note


@pytest.fixture(scope="session")
def measured(pytestconfig):
    """measured("..."): a line for the end of the report."""
    return pytestconfig.stash[MEASURED].append


@pytest.fixture(scope="session")
def programs():
    """The folder of the example programs."""
    return BUILD / "examples"


@pytest.fixture(scope="session")
def run():
    """Runs a program to its end and returns what it printed; fails the case, showing everything, where it does not end 0."""

    def start(*command, cwd=None, timeout=300):
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False)
        assert done.returncode == 0, f"{words} ended {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return start


@pytest.fixture(scope="session")
def quickstart(programs, run):
    """quickstart(model_dir, "--steps", 100, ...): one run of the quickstart; returns its standard output."""

    def start(model_dir, *arguments, **keywords):
        return run(programs / "quickstart", "--model-dir", model_dir, *arguments, **keywords)

    return start


@pytest.fixture(scope="session")
def trained(quickstart, tmp_path_factory):
    """A model directory in which the quickstart has trained 600 steps, shared by all cases that only read. Saved by the loop itself, as the
    writing thread leaves out a save where the disk is still busy with the one before."""
    folder = tmp_path_factory.mktemp("trained") / "model"
    quickstart(folder, "--steps", 600, "--save-steps", 200, "--sync")
    return folder


@pytest.fixture(scope="session")
def heard():
    """`with heard(hear):` calls hear(text) with each line that TensorFlow logs, and ends its event files."""
    import tensorflow as tf  # takes seconds, and most cases do without

    @contextlib.contextmanager
    def listen(hear):
        logger, handler, level = logging.getLogger("tensorflow"), logging.Handler(), tf.compat.v1.logging.get_verbosity()
        handler.emit = lambda record: hear(record.getMessage())
        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.INFO)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            tf.compat.v1.logging.set_verbosity(level)
            tf.compat.v1.summary.FileWriterCache.clear()

    return listen


@pytest.fixture(scope="session")
def data_server():
    """data_server(folder, samples per plugin, is_ready): what TensorBoard's data server shows of a folder, once is_ready(it) holds."""
    servers = []  # each ends with this process

    def start(folder, samples, is_ready):
        for attempt in range(3):  # TensorBoard itself waits only seconds
            servers.append(server_ingester.SubprocessServerDataIngester(
                server_binary=server_ingester.get_server_binary(), logdir=str(folder), reload_interval=1,
                channel_creds_type=grpc_util.ChannelCredsType.LOCAL, samples_per_plugin=samples))
            try:
                servers[-1].start()
                break
            except server_ingester.DataServerStartupError:
                if attempt == 2:
                    raise
        provider, deadline = servers[-1].data_provider, time.monotonic() + 300
        while not is_ready(provider):
            assert time.monotonic() < deadline, "the data server did not find everything"
            time.sleep(0.1)
        return provider

    return start
