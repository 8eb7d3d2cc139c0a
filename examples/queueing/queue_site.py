#!/usr/bin/env python3
"""One site's simulator of a queue: work arrives at random, a policy decides how fast it is done.

The policy is shared by all sites and has three knobs: `base` (speed at all times), `response` (more speed for every
unit of waiting work) and `peak` (more speed from 8 to 12). What a site reports is its mean cost per hour over some
simulated days: waiting work, plus effort, which grows with the square of the speed. Every question is answered with
fresh random days, the same for all its points; nobody computes a gradient, and there is none to compute.
"""

import json
import math
import random
import sys

#: Work per hour outside and inside the peak hours, and the mean size of a job.
SITES = {
    "harbour": (0.55, 1.10, 0.20),
    "old-town": (0.35, 0.60, 0.10),
    "campus": (0.30, 1.60, 0.30),
    "airport": (0.90, 0.90, 0.40),
}
STEP = 0.25  # hours
DAYS = 3
EFFORT = 0.5


def arrivals(site, days, rng):
    """Work that arrives in every step: a Poisson number of jobs of exponential size."""
    quiet, busy, size = SITES[site]
    work = []
    for step in range(int(days * 24 / STEP)):
        hour = step * STEP % 24
        jobs_per_step = (busy if 8 <= hour < 12 else quiet) * STEP / size
        arrived, limit, product = 0.0, math.exp(-jobs_per_step), rng.random()
        while product > limit:
            arrived += rng.expovariate(1.0 / size)
            product *= rng.random()
        work.append(arrived)
    return work


def cost(policy, work):
    """Mean cost per hour of one policy on these days."""
    base, response, peak = policy
    waiting = total = 0.0
    for step, arrived in enumerate(work):
        in_peak = 8 <= step * STEP % 24 < 12
        speed = max(0.0, 1.0 + base + response * waiting + (peak if in_peak else 0.0))
        total += waiting + EFFORT * speed * speed
        waiting = max(0.0, waiting + arrived - speed * STEP)
    return total / len(work)


def main():
    site = sys.argv[1]
    hello = json.loads(sys.stdin.readline())
    seed = sys.argv[2] if len(sys.argv) > 2 else "1"
    for line in sys.stdin:
        question = json.loads(line)
        rng = random.Random(f"{site} {seed} {hello['worker']} {question['id']}")
        work = arrivals(site, DAYS, rng)
        values = [cost(point, work) for point in question["points"]]
        print(json.dumps({"id": question["id"], "values": values}), flush=True)


if __name__ == "__main__":
    main()
