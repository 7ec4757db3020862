"""Print a module, read that back, print it again; fail where the two texts differ. Used by lit's %roundtrip, %generic.

The flags are limn-opt's; with `--print-op-generic` both prints are in the generic form, and a third print, in the
custom form, must equal the custom form of the original.
"""

import subprocess
import sys


def limn_opt(text: str, *flags: str) -> str:
    """The output of limn-opt on a text; its error message and exit status are this program's too."""
    done = subprocess.run(["limn-opt", *flags], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def main() -> None:
    *flags, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        original = file.read()
    once = limn_opt(original, *flags)
    if limn_opt(once, *flags) != once:
        sys.exit(f"the second print differs from the first:\n{once}")
    if limn_opt(once) != limn_opt(original):
        sys.exit(f"the custom form differs after a trip through this form:\n{once}")
    print(once, end="")


if __name__ == "__main__":
    main()
