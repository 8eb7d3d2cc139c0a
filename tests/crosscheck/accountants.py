#!/usr/bin/env python3
"""Compares dzoa's accountants with two libraries that share no code with it.

    python3 -m venv /tmp/crosscheck
    /tmp/crosscheck/bin/pip install -r tests/crosscheck/requirements.txt
    /tmp/crosscheck/bin/python tests/crosscheck/accountants.py --dzoa target/release/dzoa

What is compared: M Gaussian releases of sensitivity 1 with noise S. Sensitivity is the distance
between the two outputs. dp-accounting's ADD_OR_REMOVE_ONE puts them at that distance. Its REPLACE_ONE
takes `sensitivity` as the size of one contribution and puts them at twice that. dzoa's replace-one
sensitivity is the distance itself, so REPLACE_ONE is called with one half, and both must agree.
(dp-accounting's RDP accountant ignores the relation for a plain Gaussian: it is not used.)

For each point:
  * dzoa's exact epsilon is at least the optimistic estimate from the privacy loss distribution (PLD);
  * it is at most 1 % above the pessimistic estimate, and at most 0.1 % below it;
  * exact <= OpenDP's conversion of zCDP (the best there is for zCDP) <= dzoa's (Bun and Steinke).
"""

import argparse
import itertools
import json
import logging
import math
import subprocess
import sys

import dp_accounting
import opendp.prelude as opendp
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld

DELTAS = [1e-12, 1e-9, 1e-6, 1e-4, 1e-2]
ROUNDS = [1, 10, 100, 1000, 10_000, 100_000]
EPSILONS = [0.01, 0.1, 1.0, 10.0, 50.0]

# For comparing bounds that may be equal: double precision and the search for epsilon lose far less,
# and any real disagreement is far larger.
ROUNDING = 1e-9

# Connect-the-dots takes the probabilities of a grid of step h from differences of deltas, divided by h: each is off by
# about 1e-16/h, whatever the machine's elementary functions make of it, and M convolutions leave M times that in every
# delta (with M = 100,000 and h = 2e-6, 4e-6: a finer grid is worse). The library does not round it away. Ten times that is
# allowed for, in delta, in the direction that helps dzoa.
ERROR = 1e-15

# Steps of the pessimistic grid in one standard deviation of the privacy loss of one release.
# Connect-the-dots moves a loss to the two nearest points of a grid of step h. That adds at most h^2/4
# to its variance, so at most 1e-4 to mu^2 relatively, for any M. Epsilon grows as mu to a power of a
# few at most, so 0.1 % covers it.
FINENESS = 50
SPREAD = 1e-3

logging.disable(logging.WARNING)  # The optimistic estimate announces its algorithm each time.
opendp.enable_features("contrib")


def dzoa(program, sigma, rounds, delta):
    command = [program, "privacy", "epsilon", "--sigma", repr(sigma), "--sensitivity", "1"]
    command += ["--rounds", str(rounds), "--delta", repr(delta), "--json"]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer["epsilon_exact"], answer["epsilon_zcdp"]


def pessimistic(sigma, rounds, delta):
    """The least and the most that the pessimistic PLD may mean; and its number of convolutions."""
    # Where that error is not small against delta, use that M releases with noise S are one with noise
    # S/sqrt(M). Everywhere else the composition is the library's own.
    if rounds * ERROR * FINENESS * sigma > 0.01 * delta:
        rounds, sigma = 1, sigma / math.sqrt(rounds)
    step = 1 / (FINENESS * sigma)
    loss = pld.from_gaussian_mechanism(sigma, value_discretization_interval=step)
    if rounds > 1:
        loss = loss.self_compose(rounds)
    error = rounds * ERROR / step if rounds > 1 else ERROR
    least, most = (loss.get_epsilon_for_delta(delta + sign * error) for sign in (1, -1))
    return least, most, rounds


def optimistic(sigma, rounds, delta):
    """The optimistic PLD, which rounds every loss down by up to the step; and the step."""
    # Rounding down M times would lose M/2 steps, so the M releases are taken as one.
    sigma /= math.sqrt(rounds)
    step = 1 / (1000 * sigma)
    loss = pld.from_gaussian_mechanism(
        sigma, pessimistic_estimate=False, value_discretization_interval=step
    )
    return loss.get_epsilon_for_delta(delta), step


def replace_one(sigma, delta):
    loss = pld.from_gaussian_mechanism(
        sigma,
        sensitivity=0.5,
        value_discretization_interval=1 / (FINENESS * sigma),
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    return loss.get_epsilon_for_delta(delta)


def opendp_zcdp(sigma, rounds, delta):
    # In zCDP, M releases at distance 1 cost what one at distance sqrt(M) does.
    space = opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float)
    release = opendp.m.make_gaussian(*space, scale=sigma)
    return opendp.c.make_zCDP_to_approxDP(release).map(math.sqrt(rounds)).epsilon(delta)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--dzoa", default="target/release/dzoa", help="the program to check")
    program = arguments.parse_args().dzoa
    passed = failed = 0

    def check(name, holds, point, **values):
        nonlocal passed, failed
        if holds:
            passed += 1
        else:
            failed += 1
            print(f"FAILED {name}: {point} {values}")

    for delta, rounds, target in itertools.product(DELTAS, ROUNDS, EPSILONS):
        # The noise that makes the total about the target; any noise would do for the comparison.
        sigma = dp_accounting.get_sigma_gaussian(target, delta) * math.sqrt(rounds)
        exact, zcdp = dzoa(program, sigma, rounds, delta)
        low, step = optimistic(sigma, rounds, delta)
        least, most, convolved = pessimistic(sigma, rounds, delta)
        other = opendp_zcdp(sigma, rounds, delta)
        point = f"delta {delta} rounds {rounds} sigma {sigma!r} (convolved {convolved})"

        holds = exact >= low * (1 - ROUNDING)
        check("exact >= optimistic PLD", holds, point, exact=exact, optimistic=low, step=step)
        holds = exact >= least * (1 - SPREAD)
        check("exact >= pessimistic PLD less its grid", holds, point, exact=exact, pessimistic=least)
        holds = exact <= most * 1.01
        check("exact <= pessimistic PLD + 1 %", holds, point, exact=exact, pessimistic=most)
        holds = exact <= other * (1 + ROUNDING)
        check("exact <= OpenDP zCDP", holds, point, exact=exact, opendp=other)
        holds = other <= zcdp * (1 + ROUNDING)
        check("OpenDP zCDP <= zCDP", holds, point, opendp=other, zcdp=zcdp)
        check("exact <= zCDP", exact <= zcdp, point, exact=exact, zcdp=zcdp)
        if rounds == 1:
            half = replace_one(sigma, delta)
            holds = abs(half - most) <= SPREAD * most
            check("REPLACE_ONE of one half", holds, point, replace_one=half, pessimistic=most)

    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
