# SPDX-License-Identifier: Apache-2.0
"""TensorFlow reads the checkpoint of a job of several ranks: the model, and what each rank has of its own."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(scope="module", name="job", params=["alone", "together"])
def fixture_job(programs, run, tmp_path_factory, request):
    """The directory of a job of four ranks after 7 steps, and what each of them had at the end. The chief wrote the checkpoint alone, or all together."""
    folder = tmp_path_factory.mktemp("ranks") / "run"
    lines = run(programs / "train_ranks", folder, 4, 7, request.param).splitlines()
    assert len(list(folder.glob("model.ckpt-7.data-*"))) == (2 if request.param == "together" else 1)  # two variables are trained
    return folder, [(float(weight), int(count), noise) for weight, count, noise in (line.split(" ") for line in lines)]


def test_list_variables_shows_whose_state_is_whose(job):
    folder, _ = job
    names = [name for name, _ in tf.train.list_variables(str(folder))]
    of_ranks = sorted(name for name in names if name.startswith("_trainhook/ranks/"))
    assert of_ranks == sorted(f"_trainhook/ranks/{rank}/_trainhook/state/{name}" for rank in (1, 2, 3) for name in ("count", "noise"))
    assert {"weights", "biases", "global_step", "_trainhook/state/count", "_trainhook/state/noise"} <= set(names)


def test_each_state_has_the_value_that_its_rank_had(job):
    folder, ranks = job
    reader = tf.train.load_checkpoint(str(folder))
    for rank, (_, count, noise) in enumerate(ranks):
        prefix = f"_trainhook/ranks/{rank}/" if rank > 0 else ""
        assert reader.get_tensor(prefix + "_trainhook/state/count") == count == 7 * rank
        assert reader.get_tensor(prefix + "_trainhook/state/noise") == noise.encode()


def test_saver_restores_the_model(job):
    folder, ranks = job
    with tf.Graph().as_default(), tf1.Session() as session:
        weights = tf1.get_variable("weights", [3], tf.float64)
        biases = tf1.get_variable("biases", [2])
        step = tf1.train.get_or_create_global_step()
        tf1.train.Saver().restore(session, tf.train.latest_checkpoint(str(folder)))
        np.testing.assert_array_equal(session.run(weights), [ranks[0][0]] * 3)
        np.testing.assert_array_equal(session.run(biases), [1, 2])
        assert session.run(step) == 7


def test_another_number_of_ranks_goes_on_from_it(job, programs, run):
    folder, ranks = job
    lines = run(programs / "train_ranks", folder, 2, 9, "together").splitlines()
    assert [line.split(" ")[1] for line in lines] == ["0", str(ranks[1][1] + 2)]
    names = [name for name, _ in tf.train.list_variables(str(folder))]
    assert not any(name.startswith(("_trainhook/ranks/2/", "_trainhook/ranks/3/")) for name in names)
