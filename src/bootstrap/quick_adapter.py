"""Runs debugpy's adapter with the socket options that loopback wants.

    python quick_adapter.py DEBUGPY_PARENT_DIR [adapter options]

The adapter writes small packets and its peers delay their acknowledgements: each round
trip to a debuggee waits about 40 ms. TCP_NODELAY and, where the system has it,
TCP_QUICKACK on the sockets of this one process bring that to 1 or 2 ms. What the adapter
starts does not inherit it, and when a step here fails the adapter runs as it came. An
answer for a client that has left is dropped: as it comes, the adapter ends by an evaluation
that is not answered yet when its client leaves, and every session of the tree with it.
Where DAPTREE_INJECTOR names a folder, debugpy is put into running
processes by the scripts in there.
"""
import os
import sys


def quicken():
    import socket

    tcp, nodelay = socket.IPPROTO_TCP, socket.TCP_NODELAY
    quickack = getattr(socket, "TCP_QUICKACK", None)
    kinds = (socket.AF_INET, socket.AF_INET6)
    plain = socket.socket
    connect, connect_ex, accept = plain.connect, plain.connect_ex, plain.accept
    recv, recv_into = plain.recv, plain.recv_into

    def ours(sock):
        return sock.family in kinds and sock.type == socket.SOCK_STREAM

    def opened(sock):
        try:
            if ours(sock):
                sock.setsockopt(tcp, nodelay, 1)
                if quickack is not None:
                    sock.setsockopt(tcp, quickack, 1)
        except OSError:
            pass

    def heard(sock):
        # The kernel forgets the option as it goes.
        try:
            if ours(sock):
                sock.setsockopt(tcp, quickack, 1)
        except OSError:
            pass

    def quick_connect(self, *args):
        result = connect(self, *args)
        opened(self)
        return result

    def quick_connect_ex(self, *args):
        result = connect_ex(self, *args)
        opened(self)
        return result

    def quick_accept(self):
        sock, address = accept(self)
        opened(sock)
        return sock, address

    def quick_recv(self, *args):
        data = recv(self, *args)
        heard(self)
        return data

    def quick_recv_into(self, *args):
        count = recv_into(self, *args)
        heard(self)
        return count

    plain.connect, plain.connect_ex = quick_connect, quick_connect_ex
    plain.accept = quick_accept
    if quickack is not None:
        plain.recv, plain.recv_into = quick_recv, quick_recv_into


def inject_quietly(parent):
    folder = os.environ.get("DAPTREE_INJECTOR")
    if not folder:
        return
    import subprocess
    import types

    # As the adapter itself imports them: in any other order they fail.
    from debugpy.adapter import clients, servers

    def popen(command, **options):
        if "--pid" in command:
            command = [command[0], folder + "/inject.py", parent] + list(command[2:])
        return subprocess.Popen(command, **options)

    servers.subprocess = types.SimpleNamespace(**vars(subprocess))
    servers.subprocess.Popen = popen


def outlive_clients():
    from debugpy.common import messaging

    respond = messaging.Request.respond

    def respond_to_whoever_is_there(self, body):
        try:
            respond(self, body)
        except messaging.NoMoreMessages:
            pass

    messaging.Request.respond = respond_to_whoever_is_there


def main():
    parent = sys.argv.pop(1)
    script = parent + "/debugpy/adapter/__main__.py"
    try:
        quicken()
    except Exception:
        pass
    # As `python DEBUGPY_PARENT_DIR/debugpy/adapter` does it: debugpy is imported once from
    # there, then the folder leaves the path again.
    sys.argv[0] = script
    sys.path.insert(0, parent)
    import debugpy

    del sys.path[0]
    import debugpy.adapter

    for step in (outlive_clients, lambda: inject_quietly(parent)):
        try:
            step()
        except Exception:
            pass
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    names = sys.modules["__main__"].__dict__
    names.update(__file__=script, __package__="debugpy.adapter")
    exec(code, names)


main()
