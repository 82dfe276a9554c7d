"""The live page of a folder of runs (`fathoms view`), and a site of static files (`fathoms report --site`).

`server` serves the list of runs (`folder`) and, for some of them, the page of `report.html` (`viewed`), which
then asks for each part when it is looked at. Nothing is ever written. `site` writes such pages to a folder.
"""

from fathoms.hooks import Command

COMMANDS = {
    "view": Command(
        "view:view", "Show the runs of a folder on a page in your browser, also while they are in progress."
    ),
}
HOOKS = {"report --site": "site:write_site"}
