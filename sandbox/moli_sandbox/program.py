"""The child of a slot: waits behind half-closed walls, puts the input files in place, closes the walls, and runs the code as __main__."""
import array
import fcntl
import json
import os
import signal
import socket
import struct

from . import execution, isolation
from . import job as jobs
from . import syscalls as kernel
from .channel import Sender

LENGTH = struct.Struct('<I')
# Descriptors of a run: 0, 1, 2 and this one, the channel for displays and the result.
RESULTS = 3
CONTROL = 4
FIRST_FREE = 5
SET_UP_FAILED = 111
COPY_BYTES = 1 << 18


def wait_for_job(descriptors, nonce, keeper, keeper_reply, walls):
    """Everything that the child does; never returns. `keeper`: socket to ask for a cgroup on, or None."""
    control = None
    try:
        # Asked before the namespaces change: the request carries this process's id.
        if keeper is not None:
            socket.send_fds(keeper, [b'attach'], [keeper_reply.fileno()])
        control = arrange_descriptors(descriptors)
        walls.prepare()
        # After the change of user namespace, which clears it.
        kernel.set_parent_death_signal(signal.SIGKILL)
        execution.prepare_process()
        send(control, {'layers': walls.layers})
        job = receive_job(control)
        stage_files(control, job, walls)
        if control.recv(1) != b'G':
            os._exit(0)
        control.close()
        walls.close(job['limits'])
    except BaseException as error:  # noqa: BLE001 - the child must not return into the zygote's code
        try:
            send(control, {'failed': f'{type(error).__name__}: {error}'[:1000]})
        finally:
            os._exit(SET_UP_FAILED)
    execution.run(job, Sender(RESULTS, nonce))


def arrange_descriptors(descriptors):
    """Puts the pipes at 0 to 4 and closes everything else that was inherited."""
    # First out of the way of the numbers they go to.
    moved = {name: fcntl.fcntl(descriptors[name], fcntl.F_DUPFD, 64) for name in ('control', 'stdout', 'stderr', 'results')}
    null = os.open('/dev/null', os.O_RDONLY)
    os.dup2(null, 0)
    for name, target in (('stdout', 1), ('stderr', 2), ('results', RESULTS), ('control', CONTROL)):
        os.dup2(moved[name], target)
    os.closerange(FIRST_FREE, os.sysconf('SC_OPEN_MAX'))
    return socket.socket(fileno=CONTROL)


def send(control, value):
    """One message to the monitor."""
    data = json.dumps(value).encode()
    control.sendall(LENGTH.pack(len(data)) + data)


def receive_exactly(control, size):
    """Bytes from the monitor; ends the process when the monitor is gone."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = control.recv_into(view)
        if count == 0:
            os._exit(0)
        view = view[count:]
    return data


def receive_job(control):
    """Waits for the job."""
    return json.loads(receive_exactly(control, LENGTH.unpack(receive_exactly(control, LENGTH.size))[0]))


def stage_files(control, job, walls):
    """Gives the work folder its size, writes the input files, and shows the monitor the folders."""
    walls.resize(job['limits']['diskBytes'] + jobs.total_bytes(job['files']))
    for file in job['files']:
        folder = os.path.dirname(file['name'])
        if folder:
            os.makedirs(folder, exist_ok=True)
        left = file['bytes']
        with open(file['name'], 'wb') as output:
            while left:
                data = receive_exactly(control, min(left, COPY_BYTES))
                output.write(data)
                left -= len(data)
    folders = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in isolation.PRIVATE_FOLDERS]
    control.sendmsg([b'F'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', folders))])
    for descriptor in folders:
        os.close(descriptor)
