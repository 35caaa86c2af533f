"""Private classification of strings: a spectrum kernel with public landmarks.

Protein-like strings over six letters; half of them carry one of two motifs somewhere. The private
strings are the training set. The landmarks are strings that anybody could have published: made up
here with the same alphabet, and the two motifs repeated.

Run: python examples/strings.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet import ApproxDP
from privet.kernels import KernelSVC, Spectrum

LETTERS = list("ADEGKL")
MOTIFS = ("DEAD", "GKLG")


def strings(n: int, rng: np.random.Generator) -> tuple[list[str], NDArray[np.bool_]]:
    """``n`` strings of 20 letters, and which of them carry a motif."""
    carries = rng.random(n) < 0.5
    out = []
    for carry in carries:
        text = "".join(rng.choice(LETTERS, size=20))
        place = int(rng.integers(0, 16))
        motif = MOTIFS[int(rng.integers(0, 2))]
        out.append(text[:place] + motif + text[place + 4 :] if carry else text)
    return out, carries


def main(n: int = 20_000) -> float:
    """Train on ``n`` private strings, print the statement, return the accuracy on others."""
    rng = np.random.default_rng(0)
    private, labels = strings(n, rng)
    public, _ = strings(150, rng)  # published elsewhere
    public += [motif * 3 for motif in MOTIFS]
    model = KernelSVC(ApproxDP(1.0, 1e-6), kernel=Spectrum(length=3), public_points=public)
    model.fit(private, labels)
    print(model.statement())
    others, truth = strings(5_000, rng)
    accuracy = float(model.score(others, truth))
    print(f"\naccuracy on other strings: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
