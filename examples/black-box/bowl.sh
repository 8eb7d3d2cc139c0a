#!/bin/sh
# The same in shell: sum((b - centre)^2), with the centre as its argument.
read -r hello
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    points=${line#*\"points\":[[}
    points=${points%%]]*}
    values=$(printf '%s\n' "$points" | awk -v centre="$1" '{
        count = split($0, point, /\],\[/)
        for (i = 1; i <= count; i++) {
            size = split(point[i], x, ",")
            value = 0
            for (p = 1; p <= size; p++) value += (x[p] - centre) ^ 2
            printf "%s%.17g", (i > 1 ? "," : ""), value
        }
    }')
    printf '{"id":%s,"values":[%s]}\n' "$id" "$values"
done
