"""What a sweep of reasoning-gym 0.1.25 found, data set by data set; ``tests/envs/text/test_faults.py`` repeats it.

A data set is refused if its gold answer is missing or no honest and safe verdict on other answers can be had. Where the
gold answer is the only right one, a bad scorer is no reason to refuse: :data:`EXACT` replaces it.
"""

from typing import Final

_NO_GOLD = "its gold answers are missing (None), so nothing proves that it can be solved"

REFUSED: Final[dict[str, str]] = {
    "boxnet": _NO_GOLD,
    "codeio": "the same seed gives different problems in different processes",
    "composite": "it is a mixture: choose one of its data sets by name instead",
    "graph_color": _NO_GOLD,
    "intermediate_integration": "its scorer runs the answer as Python code, by way of sympy",
    "polynomial_multiplication": "the same seed gives different problems in different processes",
    "propositional_logic": _NO_GOLD,
    "rubiks_cube": _NO_GOLD,
    "rush_hour": _NO_GOLD,
    "simple_integration": "its scorer runs the answer as Python code, by way of sympy",
}
"""Data sets that are refused, each with the reason."""

EXACT: Final[dict[str, str]] = {
    "binary_matrix": "the scorer runs the answer as Python code",
    "decimal_arithmetic": "the scorer lets digits be wrong that the question asks for",
    "fraction_simplification": "the scorer ignores what follows the fraction",
    "game_of_life_halting": "the scorer takes any text for True",
    "gsm_symbolic": "the scorer reads the first number only, and drops its sign",
    "letter_jumble": "the scorer ignores words after the correct ones",
    "number_sorting": "the scorer lets every number be wrong by 1",
    "pool_matrix": "the scorer lets every number be wrong by 1%",
    "spell_backward": "the scorer ignores letters after the correct ones",
    "spiral_matrix": "the scorer runs the answer as Python code",
    "string_insertion": "the scorer runs the answer as Python code",
    "time_intervals": "the scorer ignores words after the first, and the sign of zero hours",
}
"""Data sets with one correct answer that are graded against it instead of by the library's scorer, and why."""

CONSTANT: Final[dict[str, float]] = {
    "acre": 0.40,
    "aiw": 0.20,
    "binary_alternation": 0.20,
    "calendar_arithmetic": 0.11,
    "circuit_logic": 0.62,
    "count_bits": 0.14,
    "course_schedule": 0.52,
    "family_relationships": 0.15,
    "game_of_life": 0.13,
    "game_of_life_halting": 0.55,
    "gcd": 0.28,
    "isomorphic_strings": 0.52,
    "knight_swap": 0.30,
    "largest_island": 0.19,
    "letter_counting": 0.33,
    "mahjong_puzzle": 0.36,
    "maze": 0.33,
    "number_sequence": 0.12,
    "polynomial_equations": 0.25,
    "power_function": 0.12,
    "ransom_note": 0.52,
    "rectangle_count": 0.14,
    "rotten_oranges": 0.30,
    "self_reference": 0.35,
    "shortest_path": 0.38,
    "syllogism": 0.71,
    "tower_of_hanoi": 0.15,
    "zebra_puzzles": 0.29,
}
"""Success of the best single answer to every question at a data set's default settings, where it is a tenth or more: so
good is an agent that has learnt nothing but which answer is commonest. Read a success rate beside these."""

NO_EXTRAS: Final[frozenset[str]] = frozenset({"advanced_geometry", "cryptarithm", "word_sorting"})
"""Data sets whose scorer ignores what follows a correct answer: more words or commas than the gold one has fail."""

FORMS: Final[dict[str, str]] = {
    "kakurasu": r"[01\s]+",
    "knights_knaves": r"\w+ is an? \w+(\s*(,\s*and|,|and)\s+\w+ is an? \w+)*\.?",
    "quantum_lock": r"[A-C](\s*(→|->|,)?\s*[A-C])*",
    "sokoban": r"[LDUR\s]+",
    "survo": r"[\d\s]+",
}
"""Data sets whose scorer fishes an answer out of any text: a regular expression that the whole answer has to match, in
either case."""

LENGTHS: Final[dict[str, int]] = {"sokoban": 4}
"""Data sets where many moves at random come upon a solution: how many times as long as the gold answer one may be."""

REBUILT: Final[frozenset[str]] = frozenset({"acre", "gsm_symbolic", "survo"})
"""Data sets that read their seed only when they are built, not for each item."""

IMPURE: Final[frozenset[str]] = frozenset({"decimal_arithmetic", "list_functions", "pool_matrix"})
"""Data sets that read or write the process's global random state or decimal precision."""

IN_ORDER: Final[frozenset[str]] = frozenset({"game_of_life_halting", "knight_swap"})
"""Data sets whose question as it stands decides the split: words in any order, with the answer, are a few dozen, or the
answer, one of several shortest, is another in every process.
"""

UNORDERED: Final[frozenset[str]] = frozenset({"isomorphic_strings", "ransom_note"})
"""Data sets that draw from a set of letters, whose order is another in every process unless it is fixed."""

BEYOND_ASCII: Final[frozenset[str]] = frozenset(
    {
        "acre",
        "advanced_geometry",
        "circuit_logic",
        "complex_arithmetic",
        "emoji_mystery",
        "figlet_font",
        "futoshiki",
        "gsm_symbolic",
        "knight_swap",
        "modulo_grid",
        "needle_haystack",
        "prime_factorization",
        "quantum_lock",
        "rectangle_count",
        "sentence_reordering",
        "simple_geometry",
    }
)
"""Data sets whose questions or answers hold characters outside printable ASCII."""
