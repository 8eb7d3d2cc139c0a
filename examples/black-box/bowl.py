#!/usr/bin/env python3
"""The smallest program for `loss = "external"`: sum((b - centre)^2), with the centre as its argument."""

import json
import sys

centre = float(sys.argv[1])
hello = json.loads(sys.stdin.readline())
print(f"ready with {hello['features']} variables", file=sys.stderr, flush=True)
for line in sys.stdin:
    question = json.loads(line)
    values = [sum((x - centre) ** 2 for x in point) for point in question["points"]]
    print(json.dumps({"id": question["id"], "values": values}), flush=True)
