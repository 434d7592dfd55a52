"""JavaScript for tests, in a process of its own: V8 may hang when an interpreter ends.

As a program it answers lines of JSON: {"script": ...} starts afresh, {"call": [name,
arguments...]} calls a function. `V8` is the other end.
"""

import json
import os
import subprocess
import sys


class V8:
    """A JavaScript engine that runs a script and then its functions."""

    def __init__(self, script: str):
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.load(script)

    def load(self, script: str) -> None:
        """Forget everything and run another script."""
        self._ask({"script": script})

    def call(self, *name_and_arguments):
        """Call a function of the script with data; what it returns is data too."""
        return self._ask({"call": name_and_arguments})

    def close(self) -> None:
        """End the process."""
        self.process.communicate()

    def _ask(self, question: dict):
        print(json.dumps(question), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["value"]


def serve() -> None:
    """Answer until the other end closes."""
    from py_mini_racer import JSEvalException, MiniRacer

    for line in sys.stdin:
        question = json.loads(line)
        try:
            if "script" in question:
                engine = MiniRacer()
                engine.eval(question["script"])
                value = None
            else:
                value = engine.call(*question["call"])
            answer = {"value": value}
        except JSEvalException as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
    os._exit(0)
