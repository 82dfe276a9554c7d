"""People rate scores, grade answers, name their errors or judge their claims, and how far they agree."""

from fathoms.hooks import Command

COMMANDS = {
    "review": Command(
        "review:review",
        "Rate the scores of answers, grade answers, name their errors, or judge their claims.",
    ),
}
HOOKS = {
    "agree RUN": "agreeing:agree_about_runs",
    "agree --people": "agreeing:agree_with_people",
    "reviews of a report": "agreement:reviews",
}
