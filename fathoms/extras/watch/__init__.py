"""Watch the answers of production (`fathoms watch week.yaml`): one command for a nightly or weekly job.

`command` imports a sample of the newest traces, has a judge score it, and compares it with the week of
reference (`weeks`), route by route. `failures` groups the questions that went wrong by what they are about.
"""

from fathoms.hooks import Command

COMMANDS = {
    "watch": Command(
        "command:watch", "Judge the newest traces of production, and compare them with a week of reference."
    ),
}
