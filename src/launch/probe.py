# What daptree asks of an interpreter, once, before it starts anything with it. Old Pythons
# must be able to read this too: they answer with their version.
import sys

sys.path[:] = [entry for entry in sys.path if entry]  # not what the working folder holds
import json
import os


def text(path):
    # Bytes as code points, so that any path survives JSON.
    encode = getattr(os, "fsencode", None)
    return encode(path).decode("latin-1") if encode else path


def debugger():
    import debugpy

    connect = getattr(debugpy.connect, "__wrapped__", debugpy.connect).__code__
    names = connect.co_varnames[: connect.co_argcount + connect.co_kwonlyargcount]
    folder = os.path.dirname(os.path.dirname(os.path.abspath(debugpy.__file__)))
    return {
        "version": debugpy.__version__,
        "folder": text(folder),
        "joins": "parent_session_pid" in names,
    }


answer = {
    "version": list(sys.version_info[:3]),
    "executable": text(sys.executable or ""),
    "prefix": text(sys.prefix),
    "implementation": "cpython",
    "tag": "",
    "platform": "",
    "glibc": "",
    "pip": False,
    "debugpy": None,
}
if sys.version_info >= (3, 8):
    import importlib.util
    import sysconfig

    answer["implementation"] = sys.implementation.name
    answer["tag"] = "%s%d%d%s" % (
        {"cpython": "cp", "pypy": "pp"}.get(sys.implementation.name, sys.implementation.name),
        sys.version_info[0],
        sys.version_info[1],
        "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else getattr(sys, "abiflags", ""),
    )
    answer["platform"] = sysconfig.get_platform()
    try:
        answer["glibc"] = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        pass
    answer["pip"] = importlib.util.find_spec("pip") is not None
    try:
        answer["debugpy"] = debugger()
    except Exception:
        pass
sys.stdout.write("\n@daptree " + json.dumps(answer) + "\n")
