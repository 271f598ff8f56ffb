"""The box as container `sandbox` of a Pod. It differs from the box of one machine in three things: it serves one run and ends, its neighbour learns
of it by a file in the folder that both share, and the container's own limits stand where the groups of runs would be.

`ready.json` is there as soon as something is known: { ready: true, strength, python, packages, … } once the first run inside proved the walls, or
{ ready: false, reason, reasons: { zh, en }, missing }. `used: true` beside `ready: false` says that this Pod's box is spent.
"""
import json
import os

from . import container, plain
from .keeper import Keeper, NamespacesRefused, Refused, log

READY_FILE = 'ready.json'
# The courier is another user in the group of this one.
SOCKET_MODE, FILE_MODE = 0o660, 0o640
# The canary's and the one that counts.
RUNS = 2


class PodKeeper(Keeper):
    """`options` as box.py parses them; `state` is the shared folder."""

    once = True
    # Many Pods of a pool may start on a node at once; 47 s were seen with ten programs for each processor.
    ready_seconds = 180.0

    def __init__(self, options):
        super().__init__(options)
        options.slots = 1
        self.served = 0
        self.offered = False

    def start(self):
        """Refuses what a Pod must not be before anything is made."""
        state = self.options.state
        if os.geteuid() == 0:
            raise Refused(
                'The sandbox of a Pod does not start as root. Set runAsNonRoot: true, runAsUser: 10001 and runAsGroup: 10001 for the container.',
                'Pod 中的沙箱不能以 root 启动。请为容器设置 runAsNonRoot: true、runAsUser: 10001、runAsGroup: 10001。', ['user'])
        if not os.path.isdir(state) or not os.access(state, os.W_OK | os.X_OK):
            raise Refused(
                f'{state} is not a folder that user {os.getuid()} can write to. Mount the emptyDir (medium: Memory) that the courier shares there, '
                f'and set fsGroup: {os.getgid()} for the Pod.',
                f'用户 {os.getuid()} 无法写入目录 {state}。请在该路径挂载与 courier 共享的 emptyDir（medium: Memory），并为 Pod 设置 fsGroup: {os.getgid()}。', ['state'])
        earlier = self.earlier_answer()
        if earlier.get('ready') or earlier.get('used'):
            self.offered = True
            raise Refused(
                'This Pod has offered its sandbox before; a Pod serves one run. Delete the Pod: its Deployment makes another.',
                '这个 Pod 的沙箱已经提供过一次，一个 Pod 只运行一次。请删除该 Pod，Deployment 会补上新的。', ['unused'])
        super().start()

    def come_up(self):
        """Without namespaces where the node refuses them and the configuration asks for none."""
        try:
            super().come_up()
        except NamespacesRefused as refused:
            if 'userns' in self.options.min_strength.split('+'):
                raise
            self.come_up_plain(refused)

    def come_up_plain(self, refused):
        faults = plain.faults()
        if faults:
            zh, en = ('；'.join(words) for words in zip(*faults))
            raise Refused(f'{refused.en} Without namespaces: {en}.', f'{refused.zh} 不使用命名空间时：{zh}。', refused.missing)
        log('warn', 'no namespaces here: Landlock and seccomp only', reason=refused.en)
        self.end()
        self.plain = True
        super().start()
        self.ended = False
        self.wait_until_ready()

    def try_canary(self):
        found = super().try_canary()
        if self.plain:
            plain.clear()
        return found

    def earlier_answer(self):
        """What a container of this Pod that ran before this one left behind."""
        try:
            with open(self.ready_path, encoding='utf-8') as file:
                answer = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            # Not ours, so not to be trusted: as good as used.
            return {'used': True}
        return answer if isinstance(answer, dict) else {'used': True}

    @property
    def ready_path(self):
        return os.path.join(self.options.state, READY_FILE)

    def open_groups(self):
        return container.open_container()

    def say(self, answer):
        """On stdout for the log, in the file for the courier; and with that the socket opens to the courier's group."""
        if answer['ready']:
            answer['container'] = self.trees.limits if self.trees else {'memoryBytes': None, 'pids': None, 'cpus': None}
            # The courier must not come before the walls are proved: until now only this user could connect.
            os.chmod(self.socket_path, SOCKET_MODE)
            self.offered = True
        elif self.offered:
            answer['used'] = True
        self.write_answer(answer)
        super().say(answer)

    def write_answer(self, answer):
        """Whole or not at all: the reader never sees half of it."""
        if not os.access(self.options.state, os.W_OK):
            return
        half = f'{self.ready_path}.new'
        descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, 'w', encoding='utf-8') as file:
            os.fchmod(descriptor, FILE_MODE)
            json.dump(answer, file, ensure_ascii=False)
        os.replace(half, self.ready_path)

    def hear(self, event):
        super().hear(event)
        if event['event'] == 'zygote-spent':
            self.served = event['served']

    def box_ended(self):
        """After its run that is how it should be."""
        if self.served < RUNS:
            super().box_ended()
        else:
            log('info', 'sandbox spent')

    def keep(self):
        """To the end of the one run; then nobody may take this Pod for a fresh one."""
        super().keep()
        en, zh = ('The one run of this Pod is over.', '这个 Pod 的一次运行已经结束。') if self.served >= RUNS else (
            'The sandbox ended before its run was over.', '沙箱在运行结束之前就结束了。')
        self.say({'ready': False, 'reason': f'{zh} / {en}', 'reasons': {'zh': zh, 'en': en}, 'missing': [], 'strength': ''})

    def status(self):
        return 0 if self.served >= RUNS or self.told_to_end else 1
