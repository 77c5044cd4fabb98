"""The error of shares of m attributes at equal ε: ours, and the solutions of multi-freq-ldpy for several attributes.

    python3 -m pip install -r host/estimate/peers/requirements.txt
    UNDERTONE=target/release/undertone python3 host/estimate/peers/forms.py

m attributes have ten categories and "no answer" each. The error is the standard error of a share near 0 times the root of
the number of devices, by the law of ours and the formulas of multi-freq-ldpy. Nothing is drawn.

SPL     ε/m for each attribute; SMP: one random attribute at the whole ε. The better of GRR and OUE, and SS, by its formula.
RS+FD   one random attribute with an amplified ε, and made-up values for the others. The better of GRR and OUE.

ε is for all answers of a person exchanged at once. What RS+FD calls ε is for one of them exchanged: the amplified one,
ln(m(e^ε − 1) + 1), is what it promises for all. `promise` computes that from the law of two attributes. The column "one
answer" has RS+FD at its own ε, whose promise is weaker than that of all other columns.
"""

import itertools
import json
import math
import os
import subprocess
import tempfile

from multi_freq_ldpy.mdim_freq_est.Variance_RSpFD import VAR_RSpFD_GRR, VAR_RSpFD_UE_zero
from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure

CATEGORIES = 10
ATTRIBUTES = (3, 8, 20)
EPSILONS = (0.5, 1, 3)


def ours(m, epsilon):
    attributes = [{"name": f"a{j}", "categories": [f"c{i}" for i in range(CATEGORIES)]} for j in range(m)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "form.json")
        with open(path, "w") as file:
            json.dump({"attributes": attributes}, file)
        command = [os.environ["UNDERTONE"], "plan", "devices", "--form", path, "--epsilon", str(epsilon), "--json"]
        plan = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return max(question["error_times_root"] for question in plan["questions"])


def grr(epsilon, k):
    p = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    return p, (1 - p) / (k - 1)


def oue(epsilon):
    return 0.5, 1 / (math.exp(epsilon) + 1)


def ss(epsilon, k):
    """Subset selection: each of the possible sizes, the best."""
    found = []
    for size in range(1, k):
        p = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
        found.append((p, (size - 1) / (k - 1) * p + size / (k - 1) * (1 - p)))
    return min(found, key=lambda own: VAR_Pure(*own))


def one_attribute(epsilon, k):
    return min(VAR_Pure(*own) for own in (grr(epsilon, k), oue(epsilon), ss(epsilon, k)))


def rs_fd(epsilon, k, m):
    amplified = math.log(m * (math.exp(epsilon) - 1) + 1)
    return min(VAR_RSpFD_GRR(*grr(amplified, k), k, m), VAR_RSpFD_UE_zero(*oue(amplified), m))


def promise(epsilon, k):
    """The ε of RS+FD with GRR for two attributes, if both answers are exchanged and if one is."""
    p, q = grr(math.log(2 * (math.exp(epsilon) - 1) + 1), k)

    def law(answers):
        return {y: sum((p if y[j] == answers[j] else q) / k / 2 for j in (0, 1)) for y in itertools.product(range(k), repeat=2)}

    def ratio(one, two):
        return max(math.log(law(one)[y] / law(two)[y]) for y in itertools.product(range(k), repeat=2))

    return ratio((0, 0), (1, 1)), ratio((0, 0), (0, 1))


def main():
    k = CATEGORIES + 1
    for epsilon in EPSILONS:
        both, one = promise(epsilon, 4)
        print(f"RS+FD of two attributes at epsilon {epsilon}: {both:.4f} for both answers exchanged, {one:.4f} for one")
    print("| m | ε | ours | SPL | SMP | RS+FD | ours to best | RS+FD, one answer |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for m, epsilon in itertools.product(ATTRIBUTES, EPSILONS):
        mine = ours(m, epsilon)
        spl = math.sqrt(one_attribute(epsilon / m, k))
        smp = math.sqrt(m * one_attribute(epsilon, k))
        # Its amplified ε is then the one that all others have.
        equal = math.sqrt(rs_fd(math.log((math.exp(epsilon) - 1) / m + 1), k, m))
        own = math.sqrt(rs_fd(epsilon, k, m))
        best = min(spl, smp, equal)
        print(f"| {m} | {epsilon} | {mine:.2f} | {spl:.2f} | {smp:.2f} | {equal:.2f} | {mine / best:.3f} | {own:.2f} |")


main()
