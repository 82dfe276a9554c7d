"""Statistical methods as pure functions on arrays, independent of runs, questions and files.

- `intervals`: intervals for one mean (Wilson) and for a mean of category means (stratified BCa, MOVER)
- `clusters`: intervals and tests for means of grouped questions (CR2)
- `difference`: intervals for a weighted mean of paired differences (Tango)
- `paired`: tests of paired differences, Holm's correction
- `shrink`: empirical Bayes estimates of many means
- `detectable`: the smallest difference that such a test would find
- `prediction_powered`, `weighted_sample`: means of what people would say, from a judge and a few labels
- `gate`: the verdict of a gate from paired differences
- `betting`: the interval of a mean of which only some values are known, whenever one stops
- `sequential`: evidence for a loss over many nights, with a budget of false alarms
- `few_questions`: whether one night of few questions lost more right answers than chance explains
- `kappa`: agreement of two raters beyond chance
- `ranking`: agreement of two rankings of the same systems

The unit is the question. Scores are in [0, 1] and differences in [-1, 1]; repeats must be averaged first.
Import these modules only inside the functions that need them, because they load NumPy and SciPy.
"""
