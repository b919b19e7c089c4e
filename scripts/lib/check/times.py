# SPDX-License-Identifier: MIT
"""How long things took the last time, in the cache: what goes first, and what shares a boot."""

import json
import os
import threading

from initramfs import CACHE


class Times:
    """Seconds by name. A file that cannot be read or written changes only the order of things."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.new = {}
        self.known = self._read()

    def _read(self):
        try:
            with open(self.path, encoding="utf-8") as f:
                return {str(k): float(v) for k, v in json.load(f).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def get(self, name, otherwise):
        return self.known.get(name, otherwise)

    def put(self, name, seconds):
        with self.lock:
            self.new[name] = round(seconds, 1)

    def save(self):
        with self.lock:
            if not self.new:
                return
            temporary = "%s.%d" % (self.path, os.getpid())
            try:
                with open(temporary, "w", encoding="utf-8") as f:
                    json.dump({**self._read(), **self.new}, f, indent=0, sort_keys=True)
                os.replace(temporary, self.path)
            except OSError:
                pass


TIMES = Times(os.path.join(CACHE, "check-times.json"))
