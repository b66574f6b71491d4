"""Tells whether the exception that a process stands at is one that a test waits for: raised below
`with pytest.raises(…)` and its kind. It is evaluated by the thread that stopped; it looks and
changes nothing. `found` is the answer.
"""

import ast
import linecache
import sys

NAMES = ("raises", "assertRaises", "assertRaisesRegex", "suppress")
LIBRARIES = ("/site-packages/", "/_pytest/", "/pydevd/", "/_pydevd_")


def live():
    """The frames of this thread with their lines, the innermost first."""
    frame = sys._getframe()
    while frame is not None:
        yield frame, frame.f_lineno
        frame = frame.f_back


def raised():
    """The exception that pydevd stopped the thread for, and its traceback."""
    for frame, _ in live():
        told = frame.f_locals.get("__exception__")
        if frame.f_code.co_name == "do_wait_suspend":
            told = frame.f_locals.get("arg")
        if isinstance(told, tuple) and len(told) == 3 and isinstance(told[1], BaseException):
            return told[1], told[2]
    return None, None


def left(traceback):
    """The frames that the exception has left, with the lines it left them at."""
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def value(node, frame):
    """What a name, or names with dots or in brackets, stand for; nothing is called."""
    if isinstance(node, ast.Tuple):
        return tuple(value(part, frame) for part in node.elts)
    if isinstance(node, ast.Attribute):
        return getattr(value(node.value, frame), node.attr)
    if isinstance(node, ast.Name):
        for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in space:
                return space[node.id]
    raise LookupError


def fits(error, kinds):
    try:
        return isinstance(error, kinds)
    except TypeError:
        return False


def waits_with(error, frame, line):
    """Whether a line stands in a `with` block that waits for the exception."""
    file = frame.f_code.co_filename
    if any(part in file for part in LIBRARIES):
        return False
    text = "".join(linecache.getlines(file, frame.f_globals))
    if not any(name in text for name in NAMES):
        return False
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.With, ast.AsyncWith)):
            continue
        if not node.body[0].lineno <= line <= node.body[-1].end_lineno:
            continue
        for call in (item.context_expr for item in node.items):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", None))
            kinds = call.args + [word.value for word in call.keywords if word.arg == "expected_exception"]
            kinds = kinds if name == "suppress" else kinds[:1]
            for kind in kinds if name in NAMES else ():
                try:
                    if fits(error, value(kind, frame)):
                        return True
                except (AttributeError, LookupError):
                    continue
    return False


def waits_call(error, frame):
    """Whether a frame is one of `pytest.raises(kind, function)` or its like of unittest."""
    space = frame.f_locals
    if frame.f_code.co_name == "raises" and "expected_exception" in space:
        return fits(error, space["expected_exception"])
    if frame.f_code.co_name == "handle" and "unittest" in frame.f_code.co_filename:
        return fits(error, getattr(space.get("self"), "expected", ()))
    return False


def is_expected():
    error, traceback = raised()
    if error is None:
        return False
    for frame, line in list(live()) + list(left(traceback)):
        try:
            if waits_call(error, frame) or waits_with(error, frame, line):
                return True
        except (SyntaxError, ValueError, RecursionError):
            continue
    return False


found = is_expected()
