# The least client that lets a program run under debugpy: one JSON object on standard input
# with the two commands, the program's own output and exit status come through.
import json
import os
import socket
import subprocess
import sys
import tempfile

job = json.load(sys.stdin)
fifo = os.path.join(tempfile.mkdtemp(), "endpoints")
os.mkfifo(fifo)
adapter = subprocess.Popen(
    job["adapter"],
    env=dict(os.environ, DEBUGPY_ADAPTER_ENDPOINTS=fifo),
    stdin=subprocess.DEVNULL,
    stdout=subprocess.DEVNULL,
    stderr=subprocess.DEVNULL,
)
with open(fifo) as file:
    client = json.load(file)["client"]
connection = socket.create_connection((client["host"], client["port"]), timeout=30)
stream = connection.makefile("rb")
count = 0


def send(command, arguments):
    global count
    count += 1
    message = {"seq": count, "type": "request", "command": command, "arguments": arguments}
    body = json.dumps(message).encode()
    connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = None
    while True:
        line = stream.readline()
        if not line:
            sys.exit("the adapter closed the connection")
        if line == b"\r\n":
            return json.loads(stream.read(length))
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])


send("initialize", {"adapterID": "debugpy", "pathFormat": "path"})
listen = {"host": "127.0.0.1", "port": 0}
send("attach", {"listen": listen, "redirectOutput": False, "subProcess": True})
program, stops = None, []
while True:
    message = receive()
    event = message.get("event")
    if event == "debugpyWaitingForServer":
        address = "%(host)s:%(port)d" % message["body"]
        words = [address if word == "127.0.0.1:1" else word for word in job["program"]]
        program = subprocess.Popen(
            words, cwd=job["cwd"], env=dict(os.environ, PYDEVD_DISABLE_FILE_VALIDATION="1")
        )
    elif event == "initialized":
        send("setExceptionBreakpoints", {"filters": ["uncaught"]})
        send("configurationDone", {})
    elif event == "stopped":
        thread = message["body"]["threadId"]
        send("stackTrace", {"threadId": thread})
        send("continue", {"threadId": thread})
    elif message["type"] == "response" and message["command"] == "stackTrace":
        stops.append([frame["name"] for frame in message["body"]["stackFrames"]])
    elif event == "terminated":
        break
status = program.wait(30)
adapter.kill()
adapter.wait()
with open(job["stops"], "w") as file:
    json.dump(stops, file)
sys.exit(status if status >= 0 else 128 - status)
