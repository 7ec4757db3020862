"""lit's configuration: `lit lit_tests` runs every .mlir file here by its RUN lines.

Besides lit's own substitutions there are
    %roundtrip   limn-opt printing what it reads from its own custom form, and then once more
    %generic     the same through the generic form: the text after `"op"(...) <{...}>` parses back to the same module
    %lower_to_c  the passes of the pipeline c, whatever they are
The first two take the file as `%roundtrip %s` and print the final text for filecheck.
"""

import os
import sys

import lit.formats

from limn.pipelines import C

here = os.path.dirname(os.path.abspath(__file__))
bin_dir = os.path.dirname(sys.executable)

config.name = "limn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = here
config.environment["PATH"] = bin_dir + os.pathsep + os.environ["PATH"]
config.substitutions += [
    ("%roundtrip", f"{sys.executable} {here}/roundtrip.py"),
    ("%generic", f"{sys.executable} {here}/roundtrip.py --print-op-generic"),
    ("%lower_to_c", C),
]
