"""The trusted side of a slot: takes the job, relays what the program says, keeps its limits, ends it, collects its files, and says how it went.

User code can't reach this process: it lies outside its pid namespace, and everything that comes from the child is taken as hostile bytes.
"""
import hashlib
import json
import os
import time
import traceback

from . import collect, wire
from . import job as jobs
from .relay import Gone, Relay
from .report import report
from .verdict import describe_end

SLOT_SERVED, SLOT_UNUSED, SLOT_FAILED = 0, 10, 11
# A runner that connects and then says nothing for this long is dropped.
JOB_SECONDS = 30.0
# A job frame carries the code, so it may be longer than other frames.
MAX_JOB_BYTES = 16 << 20
# A runner that takes nothing for this long is gone.
SEND_SECONDS = 30.0


def serve_one_run(slot):
    """Waits for the slot to be ready and for a runner, serves its run. Returns (status for the pool, whether all went as it should)."""
    try:
        slot.prepare()
        connection = slot.wait_for_connection()
        if connection is None:
            return SLOT_UNUSED, True
        with connection:
            return SLOT_SERVED, Monitor(slot, connection).serve()
    finally:
        slot.kill()
        slot.close()


class Monitor:
    """One run, from its job frame to its result frame."""

    def __init__(self, slot, connection):
        self.slot = slot
        self.connection = connection
        self.reader = wire.FrameReader(MAX_JOB_BYTES)
        self.timings = {'stageMs': 0, 'runMs': 0, 'collectMs': 0}

    def serve(self):
        """The run, whatever happens. True when it went by the book: the program ended by itself, and the runner took the result."""
        try:
            return self.run()
        except (Gone, OSError, wire.BrokenFrame):
            # The runner went away: cancelled. There is nobody to tell.
            return False
        except Exception as error:  # noqa: BLE001 - a fault of ours is an answer too, not a closed connection
            report('monitor-failed', trace=traceback.format_exc()[-1500:])
            self.refuse(f'{type(error).__name__} in the monitor')
            return False

    def run(self):
        started = time.monotonic()
        try:
            job, inputs, folders = self.stage()
        except jobs.BadJob as fault:
            self.refuse(str(fault))
            return False
        self.timings['stageMs'] = elapsed_ms(started)
        relay = Relay(self.slot, self.connection, self.reader, job, folders)
        relay.send(wire.json_frame('S', {'stageMs': self.timings['stageMs']}))
        begun = time.monotonic()
        self.slot.control.sendall(b'G')
        relay.follow()
        self.timings['runMs'] = elapsed_ms(begun)
        self.finish(job, inputs, folders[0], relay)
        return relay.by_the_book

    def refuse(self, reason):
        """A job that can't be run: a result all the same."""
        result = describe_end('platform_error', None, None, None, reason)
        try:
            self.connection.settimeout(SEND_SECONDS)
            self.connection.sendall(wire.json_frame('R', self.result_frame(result, None, [])))
        except OSError:
            pass

    def next_frame(self):
        while (frame := self.reader.take()) is None:
            data = self.connection.recv(1 << 18)
            if not data:
                raise Gone
            self.reader.feed(data)
        return frame

    def stage(self):
        """Reads the job, hands it and the input files to the child, fixes the limits. Returns (job, inputs, folders)."""
        self.connection.settimeout(JOB_SECONDS)
        kind, payload = self.next_frame()
        if kind != 'J':
            raise wire.BrokenFrame(f'{kind} instead of a job')
        try:
            job = jobs.check_job(json.loads(payload))
        except (ValueError, AttributeError, RecursionError) as error:
            raise jobs.BadJob(f'the job is not JSON: {error}') from error
        self.slot.control.settimeout(JOB_SECONDS)
        self.tell_program(lambda: self.slot.send(json.dumps(job).encode()))
        digests = [self.pass_file(file) for file in job['files']]
        folders = self.tell_program(self.slot.receive_folders)
        if folders is None:
            raise jobs.BadJob(f'the input files could not be put in place: {self.slot.receive().decode("utf-8", "replace")}')
        if self.slot.group:
            self.slot.group.limit(job['limits']['memoryBytes'] + jobs.total_bytes(job['files']), job['limits']['pids'])
        return job, collect.Inputs(folders[0], job['files'], digests), folders

    def tell_program(self, action):
        """Speaks to the program; one that died before the run began is a fault of the slot, not of the runner."""
        try:
            return action()
        except OSError as error:
            raise jobs.BadJob(f'the slot died before the run began ({error}); try again') from error

    def pass_file(self, file):
        """Relays the bytes of one input file to the child; returns their SHA-256."""
        left, digest = file['bytes'], hashlib.sha256()
        while left:
            kind, payload = self.next_frame()
            if kind == 'C':
                raise Gone
            if kind != 'D':
                raise jobs.BadJob(f'{file["name"]}: {left} bytes missing')
            # A frame may hold the end of one file and the beginning of the next.
            data, rest = payload[:left], payload[left:]
            if rest:
                self.reader.buffer[:0] = wire.frame('D', rest)
            digest.update(data)
            self.tell_program(lambda piece=data: self.slot.control.sendall(piece))
            left -= len(data)
        return digest.hexdigest()

    def finish(self, job, inputs, work, relay):
        """Says how the run ended; collects its files once it is dead."""
        code, cpu, dead = None, None, False
        if relay.result is None or not inputs.untouched(work):
            self.slot.kill()
            code, cpu = self.slot.wait_for_death()
            dead = code is not None
            if not dead:
                # The zygote died under the run: nobody can say how the program ended.
                relay.reason = relay.reason or 'platform_error'
        result = relay.judge(code, cpu)
        started = time.monotonic()
        collection = collect.Collection(work, inputs, job['limits'])
        artifacts = collection.walk() if dead and result['verdict'] != 'cancelled' else []
        for artifact in artifacts:
            self.send_artifact(relay, collection, artifact)
        self.timings['collectMs'] = elapsed_ms(started)
        relay.send(wire.json_frame('R', self.result_frame(result, relay, collection.skipped)))
        relay.flush(SEND_SECONDS)

    def send_artifact(self, relay, collection, artifact):
        relay.send(wire.json_frame('A', {**artifact, **relay.shown_as(artifact['name'])}))
        descriptor = collection.open(artifact['name'])
        try:
            while data := os.read(descriptor, collect.READ_BYTES):
                relay.send(wire.frame('Q', data))
                relay.flush(SEND_SECONDS)
        finally:
            os.close(descriptor)

    def result_frame(self, result, relay, skipped):
        """The payload of R."""
        outputs = (relay.stdout, relay.stderr) if relay else None
        return {
            **result,
            'truncated': {'stdout': bool(outputs and outputs[0].truncated), 'stderr': bool(outputs and outputs[1].truncated)},
            'total': {'stdout': outputs[0].total if outputs else 0, 'stderr': outputs[1].total if outputs else 0},
            'skipped': (relay.skipped if relay else []) + skipped,
            'usage': {
                'wallMs': self.timings['runMs'],
                'cpuMs': relay.usage.cpu_ms if relay else 0,
                'maxMemoryBytes': relay.usage.memory_peak if relay else 0,
                'outputBytes': outputs[0].total + outputs[1].total if outputs else 0,
            },
            'timings': self.timings,
            'strength': self.slot.strength,
        }


def elapsed_ms(since):
    """Milliseconds since a moment of the monotonic clock, to a tenth."""
    return round((time.monotonic() - since) * 1000, 1)
