"""Federated training and evaluation, checked round by round against the same arithmetic in NumPy."""

import collections
import inspect

import models
import numpy as np
import pytest
from api import found_in, look_up, release, state_and_metrics
from models import CLIENTS, RATE, SIZES, SOME_WEIGHTS, ZEROS, assert_close, close, model_fn, sgd


@pytest.mark.quick
@pytest.mark.capability(
    "learning.fed-avg",
    title="Federated averaging",
    says="A Keras model is trained by weighted federated averaging; each round gives the weights that it should.",
    looks_for=[
        ("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process"),
        ("tff.learning.models.from_keras_model", "tff.learning.from_keras_model"),
    ],
)
def test_federated_averaging_matches_numpy(find):
    find("tff.learning.models.from_keras_model")
    find("tff.learning.algorithms.build_weighted_fed_avg")
    _, history = models.trained_fed_avg()
    models.assert_as_fed_avg(history)


@pytest.mark.capability(
    "learning.fed-avg-unweighted",
    title="Unweighted federated averaging",
    says="Federated averaging can count every client alike, however many examples each one holds.",
    looks_for=[
        ("tff.learning.algorithms.build_unweighted_fed_avg", "tff.learning.build_federated_averaging_process"),
    ],
)
def test_unweighted_federated_averaging_matches_numpy(find, record_property):
    build = find("tff.learning.algorithms.build_unweighted_fed_avg")
    how = {}
    if "client_weight_fn" in inspect.signature(build).parameters:
        record_property("spelling", "client_weight_fn")
        how["client_weight_fn"] = lambda local_outputs: 1.0
    elif "client_weighting" in inspect.signature(build).parameters:
        record_property("spelling", "client_weighting")
        how["client_weighting"] = look_up("tff.learning.ClientWeighting")[1].UNIFORM
    history = models.run(build(model_fn, sgd(), sgd(1.0), **how), 2)
    models.assert_as_fed_avg(history, shares=[1, 1])


@pytest.mark.capability(
    "learning.one-step",
    title="One client, one batch, one step",
    says="A round with one client and one batch is one step of gradient descent, the same that Keras alone takes.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")],
)
def test_a_round_of_one_batch_is_one_step_of_keras(find):
    find("tff.learning.algorithms.build_weighted_fed_avg")
    x, y = CLIENTS[1]
    (only,) = models.run(models.fed_avg(), 1, clients=[(x, y)])
    in_numpy = [part - RATE * slope for part, slope in zip(ZEROS, models.gradient(ZEROS, x, y))]
    assert_close(only.weights, in_numpy)

    keras_model = models.keras_model()
    keras_model.compile(optimizer=models.keras_sgd()(), loss="mse")
    keras_model.train_on_batch(x, y)
    assert_close(only.weights, keras_model.get_weights())


@pytest.mark.capability(
    "learning.fed-sgd",
    title="Federated SGD",
    says="The server takes one step along the mean gradient of all clients' examples.",
    looks_for=[("tff.learning.algorithms.build_fed_sgd", "tff.learning.build_federated_sgd_process")],
)
def test_federated_sgd_matches_numpy(find):
    build = find("tff.learning.algorithms.build_fed_sgd")
    weights = ZEROS
    for this in models.run(build(model_fn, sgd()), 2):
        slopes = models.gradient(weights, *models.all_examples())
        weights = [part - RATE * slope for part, slope in zip(weights, slopes)]
        assert_close(this.weights, weights)


@pytest.mark.capability(
    "learning.fed-prox",
    title="FedProx",
    says="Clients' training is held near the server's model by a proximal term of the given strength.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_prox",)],
)
def test_fed_prox_matches_numpy(find):
    build = find("tff.learning.algorithms.build_weighted_fed_prox")
    history = models.run(build(model_fn, 2.0, sgd(), sgd(1.0)), 2)
    away = models.fed_avg_round(ZEROS, pull=-2.0)
    assert not close(history[0].weights, away), "wrong sign: the term drives clients away from the server's model"
    models.assert_as_fed_avg(history, pull=2.0)


@pytest.mark.capability(
    "learning.mime-lite",
    title="Mime Lite",
    says="A Keras model is trained at the clients with the server's momentum, which their full gradient moves on.",
    looks_for=[("tff.learning.algorithms.build_weighted_mime_lite",)],
)
def test_mime_lite_matches_numpy(find):
    build = find("tff.learning.algorithms.build_weighted_mime_lite")
    history = models.run(build(model_fn, look_up("tff.learning.optimizers.build_sgdm")[1](RATE, momentum=0.5)), 2)
    weights, momentum = ZEROS, [np.zeros_like(part) for part in ZEROS]
    for this in history:
        results = []
        for client in CLIENTS:
            now = weights
            for x, y in models.batches(client):
                slopes = models.gradient(now, x, y)
                now = [part - RATE * (0.5 * m + slope) for part, m, slope in zip(now, momentum, slopes)]
            results.append(now)
        full = models.gradient(weights, *models.all_examples())
        momentum = [0.5 * m + slope for m, slope in zip(momentum, full)]
        weights = models.mean_of(results, SIZES)
        assert_close(this.weights, weights)


@pytest.mark.capability(
    "learning.fed-eval",
    title="Federated evaluation",
    says="Given weights are evaluated on the clients' data; the loss and the metrics are those over all examples.",
    looks_for=[("tff.learning.algorithms.build_fed_eval", "tff.learning.build_federated_evaluation")],
)
def test_federated_evaluation_matches_numpy(find):
    build = find("tff.learning.algorithms.build_fed_eval")
    evaluation = build(models.measured_model_fn)
    weights = models.model_weights(SOME_WEIGHTS)
    if hasattr(evaluation, "next"):
        state = evaluation.set_model_weights(evaluation.initialize(), weights)
        metrics = state_and_metrics(evaluation.next(state, models.datasets()))[1]
    else:
        metrics = evaluation(weights, models.datasets())
    examples = models.all_examples()
    assert_close(models.reported(metrics, "loss"), models.loss(SOME_WEIGHTS, *examples))
    assert_close(models.reported(metrics, "mean_absolute_error"), models.absolute_error(SOME_WEIGHTS, *examples))


@pytest.mark.capability(
    "learning.metrics",
    title="Training metrics",
    says="A round reports the loss and the Keras metrics of its training over all clients' examples.",
    looks_for=[("tff.learning.algorithms.build_weighted_fed_avg", "tff.learning.build_federated_averaging_process")],
)
def test_the_metrics_of_a_round_match_numpy(find):
    build = find("tff.learning.algorithms.build_weighted_fed_avg")
    before = ZEROS
    for this in models.run(build(models.measured_model_fn, sgd(), sgd(1.0)), 2):
        assert_close(models.reported(this.metrics, "loss"), models.training_average(models.loss, before))
        error = models.training_average(models.absolute_error, before)
        assert_close(models.reported(this.metrics, "mean_absolute_error"), error)
        before = this.weights


def fed_avg_whose_weights_are_put():
    """Return federated averaging, and the function that puts weights into its state."""
    process = models.fed_avg()
    if hasattr(process, "set_model_weights"):
        return process, lambda state, weights: process.set_model_weights(state, models.model_weights(weights))
    # In 0.20 the algorithms have no such function yet, and the older one takes the state of the older process only.
    put = look_up("tff.learning.state_with_new_model_weights")[1]
    build = look_up("tff.learning.build_federated_averaging_process")[1]
    return build(model_fn, sgd(), sgd(1.0)), lambda state, weights: put(state, list(weights), [])


@pytest.mark.capability(
    "learning.model-weights",
    title="Weights in and out of the state",
    says="The model's weights can be taken out of the server's state, replaced, and trained on from there.",
    looks_for=[
        (
            "tff.learning.templates.LearningProcess.set_model_weights",
            "tff.learning.state_with_new_model_weights",
        ),
        ("tff.learning.models.ModelWeights", "tff.learning.ModelWeights"),
    ],
)
def test_training_goes_on_from_weights_that_were_put_in(find):
    find("tff.learning.models.ModelWeights")
    find("tff.learning.templates.LearningProcess.set_model_weights")
    process, put = fed_avg_whose_weights_are_put()
    state = process.initialize()
    assert_close(models.weights_of(process, state), list(ZEROS))
    state = put(state, SOME_WEIGHTS)
    assert_close(models.weights_of(process, state), list(SOME_WEIGHTS))
    models.assert_as_fed_avg(models.run(process, 2, state=state), weights=SOME_WEIGHTS)


def linear_functional_model(make):
    """Return the linear model as functions of its weights; `make` is the class for such models."""
    import tensorflow as tf

    def predict(weights, x):
        (kernel, bias), _ = weights
        return tf.matmul(x, kernel) + bias

    def loss(output, label, sample_weight=None):
        return tf.reduce_mean(tf.square(output - label))

    @tf.function
    def predict_on_batch(weights, x, training):
        return predict(weights, x)

    @tf.function
    def forward_pass(weights, batch_input, training):
        output = predict(weights, batch_input["x"])
        batch_output = look_up("tff.learning.models.BatchOutput", "tff.learning.BatchOutput")[1]
        return batch_output(loss=loss(output, batch_input["y"]), predictions=output, num_examples=tf.shape(output)[0])

    offered = {"forward_pass_fn": forward_pass, "predict_on_batch_fn": predict_on_batch, "loss_fn": loss}
    taken = inspect.signature(make.__init__).parameters
    return make(
        initial_weights=(tuple(ZEROS), ()),
        input_spec=models.dataset(CLIENTS[0]).element_spec,
        **{name: value for name, value in offered.items() if name in taken},
    )


@pytest.mark.capability(
    "learning.functional-model",
    title="Functional models",
    says="A model written as functions of its weights, without variables, is trained by federated averaging.",
    looks_for=[("tff.learning.models.FunctionalModel",), ("tff.learning.models.model_from_functional",)],
)
def test_a_functional_model_is_trained(find, record_property):
    model = linear_functional_model(find("tff.learning.models.FunctionalModel"))
    build = look_up("tff.learning.algorithms.build_weighted_fed_avg")[1]
    if release() >= (0, 34):  # RELEASE.md of 0.34.0: taken in place of `model_fn`
        process = build(model, sgd(), sgd(1.0))
    elif "model" in inspect.signature(build).parameters:
        record_property("spelling", "model")
        process = build(model_fn=None, model=model, client_optimizer_fn=sgd(), server_optimizer_fn=sgd(1.0))
    else:
        wrap = find("tff.learning.models.model_from_functional")
        process = build(lambda: wrap(model), sgd(), sgd(1.0))
    models.assert_as_fed_avg(models.run(process, 2))


def linear_variable_model(base):
    """Return a class of linear models that is written by hand upon the library's abstract class."""
    import tensorflow as tf
    import tensorflow_federated as tff

    class LinearModel(base):
        def __init__(self):
            self.kernel = tf.Variable(ZEROS[0])
            self.bias = tf.Variable(ZEROS[1])
            self.loss_sum = tf.Variable(0.0, trainable=False)
            self.count = tf.Variable(0.0, trainable=False)

        @property
        def trainable_variables(self):
            return [self.kernel, self.bias]

        @property
        def non_trainable_variables(self):
            return []

        @property
        def local_variables(self):
            return [self.loss_sum, self.count]

        @property
        def input_spec(self):
            return models.dataset(CLIENTS[0]).element_spec

        def predict_on_batch(self, x, training=True):
            return tf.matmul(x, self.kernel) + self.bias

        @tf.function
        def forward_pass(self, batch_input, training=True):
            output = tf.matmul(batch_input["x"], self.kernel) + self.bias
            loss = tf.reduce_mean(tf.square(output - batch_input["y"]))
            examples = tf.shape(output)[0]
            self.loss_sum.assign_add(loss * tf.cast(examples, tf.float32))
            self.count.assign_add(tf.cast(examples, tf.float32))
            batch_output = look_up("tff.learning.models.BatchOutput", "tff.learning.BatchOutput")[1]
            return batch_output(loss=loss, predictions=output, num_examples=examples)

        @tf.function
        def report_local_unfinalized_metrics(self):
            return collections.OrderedDict(own_loss=[self.loss_sum, self.count])

        def metric_finalizers(self):
            return collections.OrderedDict(own_loss=tf.function(lambda parts: parts[0] / parts[1]))

        @tf.function
        def reset_metrics(self):
            self.loss_sum.assign(0.0)
            self.count.assign(0.0)

        # Until 0.20 (tff.learning.Model) a model aggregates its own metrics.
        @tf.function
        def report_local_outputs(self):
            return collections.OrderedDict(own_loss=self.loss_sum / self.count, count=self.count)

        @property
        def federated_output_computation(self):
            @tff.federated_computation
            def mean(outputs):
                return collections.OrderedDict(own_loss=tff.federated_mean(outputs.own_loss, outputs.count))

            return mean

    return LinearModel


@pytest.mark.capability(
    "learning.custom-model",
    title="Models written by hand",
    says="A model of one's own variables, with its own metrics and without Keras, is trained by federated averaging.",
    looks_for=[
        ("tff.learning.models.VariableModel", "tff.learning.Model"),
        ("tff.learning.models.BatchOutput", "tff.learning.BatchOutput"),
    ],
)
def test_a_model_written_by_hand_is_trained(find):
    find("tff.learning.models.BatchOutput")
    custom_model_fn = linear_variable_model(find("tff.learning.models.VariableModel"))
    history = models.run(look_up(*models.FED_AVG)[1](custom_model_fn, sgd(), sgd(1.0)), 2)
    models.assert_as_fed_avg(history)
    assert_close(models.reported(history[0].metrics, "own_loss"), models.training_average(models.loss, ZEROS))


def mean_loss_on(model, data):
    """Return the loss of a model over batches of examples."""
    import tensorflow as tf

    def add(sums, batch):
        output = model.forward_pass(batch, training=False)
        examples = tf.cast(tf.shape(output.predictions)[0], tf.float32)
        return sums[0] + output.loss * examples, sums[1] + examples

    total, count = data.batch(models.BATCH).reduce((0.0, 0.0), add)
    return collections.OrderedDict(own_loss=total / count)


def build_fine_tuning():
    """Return one epoch of gradient descent on a client's data, then the loss on its test data."""
    import tensorflow as tf

    @tf.function
    def fine_tune(model, train_data, test_data, context=None):
        def step(count, batch):
            with tf.GradientTape() as tape:
                output = model.forward_pass(batch)
            slopes = tape.gradient(output.loss, model.trainable_variables)
            for variable, slope in zip(model.trainable_variables, slopes):
                variable.assign_sub(RATE * slope)
            return count + 1

        train_data.batch(models.BATCH).reduce(0, step)
        return mean_loss_on(model, test_data)

    return fine_tune


@pytest.mark.capability(
    "learning.personalization",
    title="Personalisation evaluation",
    says="Each client tunes the server's model to its own data; the losses before and after come back per client.",
    looks_for=[
        (
            "tff.learning.algorithms.build_personalization_eval_computation",
            "tff.learning.algorithms.build_personalization_eval",
            "tff.learning.build_personalization_eval",
        ),
    ],
)
def test_personalisation_matches_numpy(find):
    import tensorflow as tf

    evaluate = find("tff.learning.algorithms.build_personalization_eval_computation")(
        model_fn, collections.OrderedDict(tuned=build_fine_tuning), tf.function(mean_loss_on)
    )
    data = [collections.OrderedDict(train_data=each.unbatch(), test_data=each.unbatch()) for each in models.datasets()]
    metrics = evaluate(models.model_weights(SOME_WEIGHTS), data)
    before, after = (
        np.asarray(found_in(found_in(metrics, part), "own_loss")) for part in ("baseline_metrics", "tuned")
    )
    expected = [
        (models.loss(SOME_WEIGHTS, *client), models.loss(models.trained(SOME_WEIGHTS, client), *client))
        for client in CLIENTS
    ]
    assert_close(np.array(sorted(zip(before, after))), np.array(sorted(expected)))


@pytest.mark.capability(
    "learning.k-means",
    title="Federated k-means",
    says="Clients' points are clustered; the centres move as mini-batch k-means moves them.",
    looks_for=[("tff.learning.algorithms.build_fed_kmeans",)],
)
def test_k_means_matches_numpy(find):
    import tensorflow as tf

    process = find("tff.learning.algorithms.build_fed_kmeans")(2, (2,), random_seed=(1, 2))
    clients = [
        np.array([[3.0, 1.0], [-2.0, -1.0], [4.0, 2.0]], np.float32),
        np.array([[-3.0, -2.0], [2.5, 0.5], [-2.5, 0.0], [3.5, 1.5]], np.float32),
    ]
    points = np.concatenate(clients)
    data = [tf.data.Dataset.from_tensor_slices(client) for client in clients]
    state = process.initialize()
    centres = np.array(process.get_model_weights(state))
    counts = np.ones(2)  # The algorithm starts from one made-up point at each centre.
    for _ in range(2):
        state, _ = state_and_metrics(process.next(state, data))
        nearest = np.argmin(((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2), axis=1)
        added = np.array([np.sum(nearest == number) for number in range(2)])
        sums = np.array([points[nearest == number].sum(axis=0) for number in range(2)])
        centres = (centres * counts[:, None] + sums) / (counts + added)[:, None]
        counts = counts + added
        assert_close(np.array(process.get_model_weights(state)), centres)
    assert_close(np.sort(counts), np.array([7.0, 9.0]))
