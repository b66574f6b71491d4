"""Runs a program under debugpy as Python itself would run it.

    python [flags] debugpy_launcher.py DEBUGPY_PARENT_DIR --connect … (FILE | -m MOD | -c CODE) [args]

debugpy's own command line leaves marks on the program: a file gets `sys.path[0] == ""` and a
relative `__file__` when it was named so, code after `-c` does not run as `__main__`, and a
traceback shows the debugger's frames. Here the same command line is used with those steps
done the interpreter's way. The name of this file is one that debugpy keeps out of stacks.
"""
import sys



def adds_folder():
    """Whether Python puts the program's folder on the path."""
    return not (sys.flags.isolated or getattr(sys.flags, "safe_path", False))


if adds_folder():
    del sys.path[0]  # that of this file
parent = sys.argv.pop(1)
sys.path.insert(0, parent)
import debugpy

del sys.path[0]
from debugpy.server import cli

import builtins
import importlib.machinery
import importlib.util
import os
import pkgutil
import types


def fresh_main():
    """A `__main__` as the interpreter makes it, in the place of this file's."""
    main = types.ModuleType("__main__")
    main.__annotations__ = {}
    main.__builtins__ = builtins
    cli._daptree_launcher = sys.modules["__main__"]  # keeps this file's names alive
    sys.modules["__main__"] = main
    return main


def run_file():
    target = cli.options.target
    if os.path.exists(target) and pkgutil.get_importer(target) is not None:
        # A folder or an archive with a __main__ in it.
        cli.start_debugging(target)
        sys.path.insert(0, os.path.abspath(target))
        fresh_main()
        call(cli.runpy._run_module_as_main, "__main__", False)
        return
    path = target
    if sys.version_info >= (3, 9) and not os.path.isabs(path):
        path = os.path.join(os.getcwd(), path)
    with open(path, "rb") as file:
        source = file.read()
    cli.start_debugging(target)
    if adds_folder():
        sys.path.insert(0, os.path.dirname(os.path.realpath(target)))
    main = fresh_main()
    main.__file__ = path
    main.__cached__ = None
    if path.endswith(".pyc"):
        import io

        kind = importlib.machinery.SourcelessFileLoader
        code = call(pkgutil.read_code, io.BytesIO(source))
    else:
        kind = importlib.machinery.SourceFileLoader
        code = call(compile, source, path, "exec", 0, True)
    main.__loader__ = kind("__main__", path)
    call(run, code, main.__dict__)


def run_module():
    target = cli.options.target
    if adds_folder():
        sys.path.insert(0, os.getcwd())
    shown = "-m"  # as Python has it while it looks for the module
    if "." not in target:  # else looking would import the package, before any breakpoint is set
        try:
            shown = importlib.util.find_spec(target).origin or shown
        except Exception:
            pass
    cli.start_debugging(shown)
    fresh_main()
    call(cli.runpy._run_module_as_main, target, True)


def run_code():
    if adds_folder():
        sys.path.insert(0, "")
    cli.start_debugging("-c")
    main = fresh_main()
    main.__loader__ = importlib.machinery.BuiltinImporter
    code = call(compile, cli.options.target, "<string>", "exec", 0, True)
    call(run, code, main.__dict__)


# debugpy calls an exception unhandled where it leaves a frame that a `run…` of its runpy
# called; without that the filter "uncaught" never stops in Python 3.12 and newer.
runs = {}
exec(
    compile("def run(code, names):\n    exec(code, names)\n", cli.runpy.__file__, "exec"),
    runs,
)
run = runs["run"]


def call(function, *args):
    """Calls it; what it raises is shown without the frames up to here."""
    try:
        return function(*args)
    except SystemExit:
        raise
    except BaseException as error:
        shown = error
        hook = sys.excepthook

        def program_only(kind, value, traceback):
            if value is shown:
                traceback = own(traceback)
                value.__traceback__ = traceback
            hook(kind, value, traceback)

        sys.excepthook = program_only
        raise


def own(traceback):
    """The traceback from the program's first frame on."""
    internal = os.path.join(os.path.abspath(parent), "debugpy") + os.sep
    while traceback is not None:
        name = os.path.abspath(traceback.tb_frame.f_code.co_filename)
        if name != os.path.abspath(__file__) and not name.startswith(internal):
            break
        traceback = traceback.tb_next
    return traceback


def promptly(start_network):
    """pydevd sleeps for 0.1 s when it has started its threads, to give them time. Starting one
    waits for it already, and the program then waits for its client: nothing needs that time."""

    class Awake:
        def __getattr__(self, name):
            return getattr(real, name)

        def sleep(self, seconds):
            pass

    names = start_network.__globals__
    real = names["time"]

    def start(*args, **kwargs):
        names["time"] = Awake()
        try:
            return start_network(*args, **kwargs)
        finally:
            names["time"] = real

    return start


def leaving_at_once(wait):
    """At the end pydevd waits for its reader, which then waits for the one that waits for it,
    until both give up after 0.5 s. A reader that was told to end need not wait."""

    def end(self):
        return self._kill_received or wait(self)

    return end


try:
    import pydevd
    from _pydevd_bundle.pydevd_comm import ReaderThread

    pydevd.PyDB.initialize_network = promptly(pydevd.PyDB.initialize_network)
    ReaderThread._terminate_on_socket_close = leaving_at_once(
        ReaderThread._terminate_on_socket_close
    )
except Exception:
    pass  # another build of it: it takes its time

cli.run_file, cli.run_module, cli.run_code = run_file, run_module, run_code
cli.main()
