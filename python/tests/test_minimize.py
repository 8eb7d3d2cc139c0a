"""Black boxes from Python: what is found, what is counted, and what happens when they misbehave."""

import copy
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import networkx
import numpy as np
import pytest
from skipping import skip

import dzoa

CENTRES = (-1.0, 0.5, 2.0)
#: Random directions smoothed over 0.1 leave about a hundredth of noise in a coordinate.
NOISE = 3e-2


def bowl(centre):
    return lambda b: float(((b - centre) ** 2).sum())


def bowls():
    return [bowl(centre) for centre in CENTRES]


def run(objectives, **options):
    settings = dict(dim=3, rounds=100, rho=0.3, smoothing=0.1, inner_steps=10, directions=10, seed=1)
    return dzoa.minimize(objectives, **{**settings, **options})


def test_three_bowls_meet_at_the_mean_of_their_centres():
    result = run(bowls(), graph="path")
    assert result.success and result.status == "finished"
    # The minimiser of the sum, in closed form; there it is 3 (2.25 + 0 + 2.25).
    np.testing.assert_allclose(result.x, 0.5, atol=NOISE)
    assert result.fun == pytest.approx(13.5, abs=1e-2)
    assert result.coefficients.shape == (3, 3)
    # 17 values measure the curvature, then 2 T J a round; the trace is counted apart.
    assert result.evaluations == [17 + 100 * 2 * 10 * 10] * 3
    assert result.trace_evaluations == [53] * 3


def test_a_batched_objective_gives_the_same_bits_as_single_points():
    batched = [lambda points, c=c: ((points - c) ** 2).sum(axis=1) for c in CENTRES]
    single, whole = run(bowls()), run(batched, batched=True)
    np.testing.assert_array_equal(single.coefficients, whole.coefficients)
    assert single.evaluations == whole.evaluations


def test_threads_and_names_of_the_graph_do_not_change_the_bits():
    one = run(bowls(), graph=[(0, 1), (1, 2)])
    np.testing.assert_array_equal(one.coefficients, run(bowls(), graph="path", threads=3).coefficients)
    named = dict(zip("123", bowls()))
    np.testing.assert_array_equal(one.coefficients, run(named, graph=[("1", "2"), ("2", "3")]).coefficients)


def test_a_networkx_graph_names_the_agents():
    graph = networkx.star_graph(2)
    result = run(bowls(), graph=networkx.relabel_nodes(graph, {0: "hub", 1: "a", 2: "b"}))
    assert result.agents == ["hub", "a", "b"] and result.edges == [(0, 1), (0, 2)]
    np.testing.assert_allclose(result.x, 0.5, atol=NOISE)


def test_one_agent_alone_works():
    result = run([bowl(1.5)], rounds=60)
    np.testing.assert_allclose(result.x, 1.5, atol=NOISE)


def test_an_l1_penalty_shrinks_as_soft_thresholding_says():
    # argmin (b - 2)^2 + 2 |b| = 1, and (b - 0.5)^2 + 2 |b| = 0.
    target = np.array([2.0, 0.5])
    # A step jumps over the kink: short ones, and the mean of later rounds. Over 30 seeds the worst error was 0.016.
    careful = dict(step=0.02, inner_steps=30, average="last-half", rounds=150)
    result = run([lambda b: float(((b - target) ** 2).sum())], dim=2, regularizer="l1", eta=2.0, **careful)
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=NOISE)


def logistic_problem():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(3, 60, 4))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=2, keepdims=True))
    signs = np.where(rows[:, :, 0] + 0.3 * rng.normal(size=(3, 60)) > 0, 1.0, -1.0)
    return rows, signs


def test_a_callable_l1_logistic_objective_reaches_what_the_built_in_loss_reaches():
    rows, signs = logistic_problem()
    strength = 0.01

    def objective(k):
        return lambda points: (
            np.logaddexp(0.0, -signs[k] * (points @ rows[k].T)).mean(axis=1)
            + strength / 3 * np.abs(points).sum(axis=1)
        )

    black = dzoa.minimize(
        [objective(k) for k in range(3)],
        "complete",
        dim=4,
        batched=True,
        rho=0.02,
        rounds=300,
        inner_steps=30,
        directions=20,
        smoothing=0.1,
        seed=2,
    )
    # C = K/(N strength) makes the estimator's objective the same one.
    known = dzoa.LogisticRegression(
        penalty="l1",
        C=3 / (180 * strength),
        bounds=1.0,
        row_norm=1.0,
        fit_intercept=False,
        agents=3,
        graph="complete",
        algorithm="d-zoa",
        rho=0.02,
        max_iter=300,
        random_state=2,
    ).fit(rows.reshape(180, 4), signs.ravel())
    value = sum(objective(k)(np.atleast_2d(black.x))[0] for k in range(3))
    best = sum(objective(k)(known.coef_)[0] for k in range(3))
    at_zero = 3 * np.log(2.0)
    # Both are within a thousandth of the way from zero to the optimum of each other.
    assert abs(value - best) < 1e-3 * (at_zero - best)


def per_sample(k):
    rows, signs = logistic_problem()
    return lambda points: np.logaddexp(0.0, -signs[k] * (points @ rows[k].T))


def test_scalar_is_exact_without_a_seed_and_claims_nothing_with_one():
    options = dict(dim=4, per_sample=True, batched=True, mechanism="scalar", total_epsilon=8.0, delta=1e-4, clip=1.0)
    boxes = [per_sample(k) for k in range(3)]
    exact = dzoa.minimize(boxes, **options)
    assert exact.privacy.claim == "exact" and "EXACT" in str(exact.privacy)
    # Exact values of the objective would tell what the noise hides.
    assert exact.fun is None and np.isnan(exact.columns["objective"]).all()
    # A bound, and tight.
    assert 7.9 < exact.privacy.epsilon <= 8.0
    seeded = dzoa.minimize(boxes, seed=1, **options)
    assert seeded.privacy.claim == "none" and "seed" in str(seeded.privacy)
    # The labels follow the first column.
    assert seeded.x[0] > max(abs(seeded.x[1:]))
    repeated = dzoa.minimize(boxes, seed=1, **options)
    np.testing.assert_array_equal(seeded.coefficients, repeated.coefficients)
    assert not np.array_equal(exact.coefficients, dzoa.minimize(boxes, **options).coefficients)


def test_recorded_values_void_the_claim_of_the_result_that_holds_them():
    options = dict(dim=4, per_sample=True, batched=True, mechanism="scalar", total_epsilon=8.0, delta=1e-4, clip=1.0)
    boxes = [per_sample(k) for k in range(3)]
    recorded = dzoa.minimize(boxes, record_every=1, **options)
    assert np.isfinite(recorded.columns["objective"]).all() and recorded.fun is not None
    assert recorded.privacy.claim == "none" and recorded.privacy.epsilon is None
    for text in (str(recorded), str(recorded.privacy), repr(recorded)):
        assert "EXACT" not in text and "for the holder of the rows, do not share" in text
    assert f"objective {recorded.fun:.6g} (unprotected: do not share)" in str(recorded)
    # What was exchanged cost the same as without them.
    assert all(7.9 < spent <= 8.0 for spent in recorded.privacy.per_agent.values())
    # Where nothing is promised nothing is taken back.
    assert "do not share" not in str(run(bowls(), rounds=2, record_every=1))


def test_a_callback_that_stops_a_run_does_not_lower_what_is_claimed():
    # When it stops may depend on what was released: what the plan allowed is the guarantee.
    options = dict(dim=4, per_sample=True, batched=True, mechanism="scalar", total_epsilon=8.0, delta=1e-4, clip=1.0)
    stopped = dzoa.minimize([per_sample(k) for k in range(3)], callback=lambda round, _: round == 2, **options)
    assert stopped.status == "stopped" and stopped.rounds == 2 < stopped.settings["rounds"]
    assert 7.9 < stopped.privacy.epsilon <= 8.0
    assert "the run ended before" in str(stopped.privacy)
    # One sentence for all front ends: that of the program.
    assert str(stopped.privacy).startswith("EXACT: every agent's releases of this run together are (8.000, 1e-4)")


def test_intrinsic_is_nominal_and_none_is_none():
    nominal = run(bowls(), mechanism="intrinsic", epsilon=0.1, delta=1e-3, samples=[20] * 3, rounds=5, rho=4.0)
    assert nominal.privacy.claim == "nominal" and "not a guarantee" in str(nominal.privacy)
    plain = run(bowls(), rounds=2)
    assert plain.privacy.claim == "none" and plain.privacy.epsilon is None


def test_an_exception_names_agent_round_and_point_and_is_the_cause():
    calls = []

    def fragile(b):
        calls.append(1)
        if len(calls) == 500:
            raise KeyError("no such bed")
        return float((b**2).sum())

    with pytest.raises(dzoa.ObjectiveError, match=r"agent 2, round 3, inner step \d+: .* at \[.*KeyError: 'no such bed'") as caught:
        run([bowl(0.0), fragile, bowl(0.0)])
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda b: float("nan"), "is NaN at"),
        (lambda b: float("inf"), "is inf at"),
        (lambda b: None, "returned NoneType, expected one number"),
        (lambda b: "1.0", "returned str, expected one number"),
        (lambda b: b, r"returned ndarray of shape \(3,\), expected one number"),
        (lambda b: 1j, "returned complex, expected one number"),
    ],
)
def test_what_is_not_a_finite_number_is_refused(wrong, text):
    with pytest.raises(dzoa.ObjectiveError, match=rf"agent 1, before round 1: .*{text}"):
        run([wrong, bowl(0.0), bowl(0.0)])


@pytest.mark.parametrize(
    "wrong, text",
    [
        (lambda points: points, r"shape \[17, 3\], expected numbers of shape \[17\]"),
        (lambda points: points[:-1].sum(axis=1), r"shape \[16\], expected numbers of shape \[17\]"),
        (lambda points: ["a"] * len(points), "returned list, expected numbers"),
        (lambda points: 1.0, r"expected numbers of shape \[17\]"),
    ],
)
def test_a_batch_of_another_shape_is_refused(wrong, text):
    with pytest.raises(dzoa.ObjectiveError, match=text):
        run([wrong] * 3, batched=True)


def test_lists_integers_and_other_layouts_are_understood():
    lists = [lambda points, c=c: [float(((p - c) ** 2).sum()) for p in points] for c in CENTRES]
    np.testing.assert_array_equal(run(lists, batched=True).coefficients, run(bowls()).coefficients)
    ones = run([lambda points: np.ones((len(points), 2), dtype=np.int32)[:, 0]] * 3, batched=True, rounds=2)
    assert ones.success
    # Nothing pulls but the estimator's own noise around zero.
    np.testing.assert_allclose(ones.x, 0.0, atol=NOISE)


def test_an_objective_may_change_and_keep_its_input():
    kept = []

    def greedy(b):
        value = float(((b - 0.5) ** 2).sum())
        kept.append(b)
        b[:] = np.nan
        return value

    np.testing.assert_array_equal(run([greedy] * 3).coefficients, run([bowl(0.5)] * 3).coefficients)


def test_a_sleeping_objective_only_takes_its_time_and_other_threads_go_on():
    ticks = []

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.005)

    done = threading.Event()
    clock = threading.Thread(target=tick)
    clock.start()
    result = run([lambda b: time.sleep(0.002) or float((b**2).sum())] * 3, rounds=2, inner_steps=2, directions=5, threads=3)
    done.set()
    clock.join()
    assert result.success and len(ticks) > 5


def test_a_budget_of_evaluations_ends_the_run_with_what_is_done():
    result = run(bowls(), max_evaluations=1000)
    assert result.status == "out-of-evaluations" and not result.success
    # 17 + 4 rounds of 200 + batches of 20 while they fit.
    assert result.evaluations == [997] * 3 and result.rounds == 4
    assert np.isfinite(result.x).all() and "budget of 1000" in result.message


def test_a_callback_sees_every_round_and_ends_the_run():
    seen = []

    def callback(round, coefficients):
        seen.append((round, coefficients.shape))
        return round == 7

    result = run(bowls(), callback=callback)
    assert seen == [(m, (3, 3)) for m in range(1, 8)]
    assert result.status == "stopped" and result.rounds == 7


def test_an_exception_in_the_callback_is_raised_as_it_is():
    def callback(round, coefficients):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        run(bowls(), callback=callback)


def test_minimize_inside_an_objective_and_in_many_threads():
    def nested(b):
        inner = run([bowl(0.0)], rounds=1, inner_steps=1, directions=1)
        return float((b**2).sum()) + 0.0 * inner.nfev

    assert run([nested], rounds=1, inner_steps=2, directions=2).success
    expected = run(bowls()).coefficients
    found = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: run(bowls()).coefficients})) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join(timeout=120) for thread in threads]
    for i in range(4):
        np.testing.assert_array_equal(found[i], expected)


def test_ctrl_c_stops_a_run():
    script = textwrap.dedent(
        """
        import time, dzoa
        def slow(b):
            time.sleep(0.01)
            return float((b ** 2).sum())
        dzoa.minimize([slow], dim=2, rounds=1, inner_steps=1, record_every=0)
        print("started", flush=True)
        try:
            dzoa.minimize([slow] * 3, dim=2, rounds=100000, record_every=0)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    # All rounds would take hours: that it ends at all shows that it was stopped.
    rest, _ = child.communicate(timeout=60)
    assert rest == "interrupted\n" and child.returncode == 0


def test_ctrl_c_stops_a_fit():
    script = textwrap.dedent(
        """
        import numpy as np, dzoa
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2000, 20))
        # What is imported late is there: an interrupt inside an import would set Python's exit code.
        dzoa.Lasso(max_iter=1).fit(X, X[:, 0])
        print("started", flush=True)
        try:
            dzoa.Lasso(algorithm="d-zoa", max_iter=10**7, tol=0.0).fit(X, X[:, 0])
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=60)
    assert rest == "interrupted\n" and child.returncode == 0


@pytest.mark.parametrize(
    "change, text",
    [
        (dict(rho=-1.0), "rho must be a finite number above 0, not -1.0"),
        (dict(rounds=0), "rounds must be a whole number of at least 1, not 0"),
        (dict(rounds=2.5), "rounds must be a whole number"),
        (dict(graph="cycle"), "graph: unknown topology `cycle`; hint: paper, ring"),
        (dict(graph=[(0, 1)]), "graph: the network is not connected"),
        (dict(graph=[(0, 3)]), "agent 3, but there are agents 0 to 2"),
        (dict(graph=networkx.path_graph(4)), "graph: has 4 nodes for 3 agents"),
        (dict(graph=networkx.DiGraph([(0, 1), (1, 2)])), "graph: is directed"),
        (dict(mechanism="output"), "needs a loss whose minimiser can be certified"),
        (dict(mechanism="scalar"), "needs one value per sample; hint: per_sample=True"),
        (dict(mechanism="magic"), "mechanism: unknown `magic`; hint: none, joint, scalar, intrinsic"),
        (dict(mechanism="intrinsic", epsilon=0.1, delta=1e-3), "samples is missing"),
        (dict(total_epsilon=1.0), "have no effect with mechanism="),
        (dict(seed=-1), "seed must be a whole number of at least 0"),
        (dict(average="median"), "average: unknown `median`"),
    ],
)
def test_bad_input_is_refused_in_one_line_that_names_it(change, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        run(bowls(), **change)
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_callable_is_named():
    with pytest.raises(TypeError, match="agent 2's is not callable"):
        run([bowl(0.0), 3.0, bowl(0.0)])


def test_a_result_can_be_pickled_copied_printed_and_tabulated():
    result = run(bowls(), rounds=20)
    for twin in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        np.testing.assert_array_equal(twin.coefficients, result.coefficients)
        assert twin.privacy == result.privacy
    frame = result.trace
    assert list(frame.columns) == ["round", "objective", "consensus", "change", "evaluations"]
    assert len(frame) == 20 and frame["round"].iloc[-1] == 20
    assert "privacy: NONE" in str(result)


def test_the_plot_shows_objective_and_disagreement(tmp_path):
    try:
        import matplotlib
    except ImportError:
        skip("matplotlib is not installed")
    matplotlib.use("Agg")
    axes = run(bowls(), rounds=30).plot()
    assert axes.get_xlabel() == "evaluations, all agents" and axes.get_title(loc="left") == "privacy: none"
    path = tmp_path / "plot.png"
    axes.figure.savefig(path)
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("directions", [10, 30])
def test_an_inner_step_is_one_batched_call(directions):
    # What a call costs beside the callable is measured in benches/black_box: a clock decides no test.
    answer, steps, asked = np.zeros(2 * directions), 400, []

    def batched(points):
        asked.append(points.shape)
        return answer

    dzoa.minimize(
        [batched], dim=10, batched=True, rounds=1, inner_steps=steps, directions=directions, step=1e-3, rho=1.0, record_every=0, seed=1
    )
    assert asked == [(2 * directions, 10)] * steps


@pytest.mark.parametrize("seed", range(3))
def test_noisy_values_return_the_best_point_seen_and_a_warning(seed):
    rng = np.random.default_rng(seed)
    exact = bowls()
    noisy = [lambda x, f=f: f(x) + 0.2 * rng.normal() for f in exact]
    with pytest.warns(RuntimeWarning, match="diverged: the result has the objective"):
        result = run(noisy, graph="path")
    value = lambda x: sum(f(x) for f in exact)
    # Three values with noise of 0.2 each: 2 is far beyond what noise can hide.
    assert value(result.x) < value(np.zeros(3)) + 2.0
    assert value(result.x_final) > value(np.zeros(3)) + 2.0
    assert result.fun < result.fun_final


def test_without_noise_the_best_point_is_near_the_last_and_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(bowls(), graph="path")
    assert result.fun <= result.fun_final
    np.testing.assert_allclose(result.x, result.x_final, atol=NOISE)
