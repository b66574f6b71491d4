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
    connect(setup["address"], setup["adapter_access_token"])


def connect(address, token):
    """As debugpy.connect, but the program does not stand still until a client has come: it would do
    so for ever when that one dies or thinks better of it."""
    import io

    import debugpy
    import pydevd
    from _pydev_bundle import pydev_log, pydev_monkey

    settrace = pydevd.settrace

    def going_on(*args, **options):
        options["wait_for_ready_to_run"] = False
        return settrace(*args, **options)

    # pydevd asks this before it has a child connect to the adapter. One that finds none there ends
    # at once, so that without a debugger children are left alone.
    own = getattr(pydev_monkey, "_daptree_own", pydev_monkey._get_apply_arg_patching)
    pydev_monkey._daptree_own = own
    pydev_monkey._get_apply_arg_patching = (
        lambda: pydevd.get_global_debugger() is not None and own()
    )
    pydevd.settrace = going_on
    try:
        with pydev_log.log_context(0, io.StringIO()):
            debugpy.connect(address, access_token=token)
    except Exception:
        # The adapter is gone already. That is nothing to the program.
        pydev_monkey._get_apply_arg_patching = lambda: False
    finally:
        pydevd.settrace = settrace
