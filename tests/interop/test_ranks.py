# SPDX-License-Identifier: Apache-2.0
"""TensorFlow reads the checkpoint of a job of several ranks: the model, and what each rank has of its own."""

import numpy as np
import pytest
import tensorflow as tf

tf1 = tf.compat.v1


@pytest.fixture(scope="module", name="job", params=["alone", "together", "parts"])
def fixture_job(programs, run, tmp_path_factory, request):
    """The directory of a job of four ranks after 7 steps, and what each of them had at the end. The chief wrote the checkpoint alone, or all together,
    or each has parts of a tensor."""
    folder = tmp_path_factory.mktemp("ranks") / "run"
    lines = run(programs / "train_ranks", folder, 4, 7, request.param).splitlines()
    files = {"alone": 1, "together": 2, "parts": 4}  # two variables are trained
    assert len(list(folder.glob("model.ckpt-7.data-*"))) == files[request.param]
    return folder, [(float(weight), int(count), noise) for weight, count, noise, _ in (line.split(" ") for line in lines)]


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
        assert reader.get_tensor(prefix + "_trainhook/state/noise")[0, 1] == noise.encode()  # after the form of its type


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


def test_a_tensor_whose_parts_ranks_have_is_one_tensor_and_its_regions_too(programs, run, tmp_path):
    run(programs / "train_ranks", tmp_path / "run", 4, 7, "parts")
    expected = np.arange(24, dtype=np.float32).reshape(8, 3) + 3.5
    prefix = tf.train.latest_checkpoint(str(tmp_path / "run"))
    np.testing.assert_array_equal(tf.train.load_checkpoint(prefix).get_tensor("field"), expected)
    (region,) = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=["field"], shape_and_slices=["8 3 1,4:1,2"], dtypes=[tf.float32])
    np.testing.assert_array_equal(region, expected[1:5, 1:3])


def test_ranks_restore_their_parts_of_a_variable_that_tensorflow_has_partitioned(programs, run, tmp_path):
    def rows(shape, dtype, partition_info):
        first = 3 * partition_info.var_offset[0]
        return tf.reshape(tf.range(first, first + np.prod(shape), dtype=dtype), shape)

    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.get_variable("field", [4, 3], initializer=rows, partitioner=tf1.fixed_size_partitioner(3))
        tf1.get_variable("weights", initializer=np.zeros(3))
        tf1.get_variable("biases", initializer=np.float32([1, 2]))
        tf1.train.get_or_create_global_step()
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "run" / "model.ckpt"), global_step=0)
    lines = run(programs / "train_ranks", tmp_path / "run", 2, 2, "parts").splitlines()
    assert [float(line.split(" ")[3]) for line in lines] == [1, 7]
    whole = tf.train.load_checkpoint(str(tmp_path / "run")).get_tensor("field")
    np.testing.assert_array_equal(whole, np.arange(12, dtype=np.float32).reshape(4, 3) + 1)
