"""Runs in a process that debugpy is put into: has it connect to the adapter. debugpy's own script
of this name prints warnings on the standard error of a program that may have a use for it.
"""
import os
import sys

PARENT = "@PARENT@"


def ignore(message):
    pass


def attach(setup):
    # Of pydevd, here and in children: it warns of frozen modules otherwise.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    if "threading" not in sys.modules:
        # The thread that imports it first counts as the main one, and this is not it.
        folder = PARENT + "/debugpy/_vendored/pydevd/pydevd_attach_to_process"
        sys.path.insert(0, folder)
        try:
            import attach_script

            attach_script.fix_main_thread_id(
                on_warn=ignore, on_exception=ignore, on_critical=ignore
            )
        finally:
            sys.path.remove(folder)
    sys.path.insert(0, PARENT)
    try:
        import debugpy
        import debugpy.server
        import pydevd
    finally:
        sys.path.remove(PARENT)
    earlier = pydevd.get_global_debugger()
    if earlier is not None:
        earlier.dispose_and_kill_all_pydevd_threads(wait=False)
    debugpy.connect(setup["address"], access_token=setup["adapter_access_token"])
