"""Rooms that few users need. Each uses only the core's ports and can be deleted without a change elsewhere.

What one adds stands in its `__init__`, and `fathoms/hooks.py` finds it; nothing else imports an extra, and no
extra imports another one (`tests/package/test_rooms.py` lists what each may import).
"""
