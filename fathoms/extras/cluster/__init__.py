"""Several machines that work on one corpus: a Ray cluster, and a cache in a folder or bucket that they share.

`executor` gives work to the workers of a cluster, which run `worker`, and `state` is what `fathoms doctor`
says of one. `store` is the shared cache, a second layer behind the cache of each machine, at one of `places`.
Only what follows from documents lies in it, under fingerprints of all that it depends on, so it is never
stale; losing it costs only time. A reader needs one request for a hit and lists nothing. A write replaces an
object whole, so readers see the old bytes or the new ones, and two writers of the same key write the same.
"""

HOOKS = {
    "execution kind 'ray'": "executor:RayExecutor",
    "the shared cache": "store:FsspecStore",
}
