# Text tests: what a file's RUN lines print is compared with its CHECK lines. Run through ctest (entry `text`), or:
#   lit -sv -Dweft_opt=build/weft-opt -Dweft=build/weft -Dfilecheck=FileCheck-19 -Dexec_root=build/text tests/text
# In RUN lines, `status N COMMAND` expects exit status N, and `not COMMAND` any failure.
import os

import lit.formats

config.name = "weft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".weft", ".yaml"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
config.test_exec_root = os.path.abspath(lit_config.params.get("exec_root", "text-tests"))

for name in ("LSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS", "WEFT_POISON"):
    if name in os.environ:
        config.environment[name] = os.environ[name]


def command(name, program):
    # The word itself: not a part of a path, nor of a longer word.
    config.substitutions.append((r"(?<![\w/.-])%s(?![\w/.-])" % name, program))


filecheck = os.path.realpath(lit_config.params["filecheck"])
command("weft-opt", os.path.abspath(lit_config.params["weft_opt"]))
command("weft", os.path.abspath(lit_config.params["weft"]))
command("FileCheck", filecheck)
command("not", os.path.join(os.path.dirname(filecheck), "not"))
command("status", "sh " + os.path.join(config.test_source_root, "status.sh"))
