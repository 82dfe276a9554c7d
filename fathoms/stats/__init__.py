"""Statistics as pure functions on arrays: nothing here knows a run, a question or a file.

- `intervals`: for one mean (Wilson), for a mean of category means (stratified BCa, MOVER)
- `clusters`: the same where questions come in groups (CR2)
- `difference`: for a weighted mean of paired differences (Tango)
- `paired`: tests of paired differences, Holm, the smallest difference that could have been shown
- `gate`: from bounds to a verdict
- `kappa`: agreement of two raters beyond chance

The unit is the question. Scores lie in [0, 1], differences in [-1, 1]; repeats are averaged before.
The modules are imported one by one where they are needed, for they take NumPy and SciPy with them.
"""
