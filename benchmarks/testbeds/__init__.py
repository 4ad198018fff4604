"""Testbeds: small tasks with exact or cheap answers on which published methods are compared.

There are three, each a learner whose task is data:

* :mod:`.answer_tree`, tabular: completions are the paths of a tree; success, pass@k and entropy are exact;
* :mod:`.sequences`, longer completions and several turns: forks, modes, thoughts, preferences, proofs and a grid;
* :mod:`.control`, agents of control on small environments and bandits.

Beside control stand those that train no policy by its schedule: :mod:`.stream` (one sample at a time, agents of two
libraries), :mod:`.offline_mixture` (one learner at several settings, from an expert mixed with noise), :mod:`.values`
(critics of a fixed policy) and :mod:`.counter` (teachers of a parameter space). One trains nothing:
:mod:`.interval_width` simulates the scores of a race. A claim (:mod:`tiltyard.benchmarks.claims`) names a testbed, its
numbers and the conditions that are compared on it.
"""
