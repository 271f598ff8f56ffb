import { type AbuseCase, PROBE, REFUSED } from '../expectation.ts';

const UNREACHABLE = [...REFUSED, 'ENETUNREACH', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'EINVAL', 'gaierror'];

/** Cases 49 and 55. The walk over all system calls (54) is in `kernel.spec.ts`: its expectation is the policy file. */
export const WALL_CASES: readonly AbuseCase[] = [
  {
    id: 49,
    what: 'network',
    variants: [
      {
        name: 'the internet, the cloud’s metadata, the machine and Moli itself, at once',
        code: `${PROBE}
import socket
targets = [('1.1.1.1', 53), ('8.8.8.8', 443), ('169.254.169.254', 80), ('100.100.100.200', 80), ('10.96.0.1', 443), ('10.0.0.1', 22), ('172.17.0.1', 2375), ('192.168.1.1', 80)]
targets += [(host, port) for host in ('127.0.0.1', 'localhost', '0.0.0.0') for port in {{ports}}]
for target in targets:
    attempt(f'tcp {target}', lambda: socket.create_connection(target, timeout=30))
    attempt(f'udp {target}', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', target))
for target in (('fd00:ec2::254', 80), ('2606:4700:4700::1111', 53), ('::1', 80)):
    attempt(f'tcp6 {target}', lambda: socket.socket(socket.AF_INET6).connect(target))
report()
`,
        limits: { wallSeconds: 10 },
        answers: UNREACHABLE,
      },
      {
        name: 'every family and kind of socket',
        code: `${PROBE}
for family in range(0, 46):
    for kind in (1, 2, 3, 4, 5, 6, 10):
        attempt(f'{family}/{kind}', lambda: call(41, family, kind, 0))
        attempt(f'{family}/{kind}/wide', lambda: call(41, family | (1 << 32), kind, 0))
attempt('icmp', lambda: call(41, 2, 2, 1))
attempt('raw', lambda: call(41, 2, 3, 1))
attempt('sctp', lambda: call(41, 2, 1, 132))
report()
`,
        answers: ['EACCES', 'EPERM'],
      },
      {
        name: 'names',
        code: `${PROBE}
import socket
for name in ('example.com', 'metadata.google.internal', 'kubernetes.default.svc', 'redis', 'postgres', 'gateway'):
    attempt(name, lambda: socket.getaddrinfo(name, 80))
    attempt(f'{name} (old)', lambda: socket.gethostbyname(name))
report()
`,
        limits: { wallSeconds: 10 },
        answers: UNREACHABLE,
      },
      {
        name: 'by libraries',
        code: `${PROBE}
import ftplib, http.client, smtplib, urllib.request, asyncio
attempt('urllib', lambda: urllib.request.urlopen('http://169.254.169.254/', timeout=30))
attempt('http', lambda: http.client.HTTPConnection('1.1.1.1', timeout=30).request('GET', '/'))
attempt('ftp', lambda: ftplib.FTP('1.1.1.1', timeout=30))
attempt('smtp', lambda: smtplib.SMTP('1.1.1.1', timeout=30))
import pandas
attempt('pandas', lambda: pandas.read_csv('http://169.254.169.254/x.csv'))
attempt('listen', lambda: __import__('http.server').server.HTTPServer(('', 8080), None))
report()
`,
        limits: { wallSeconds: 10 },
        answers: [...UNREACHABLE, 'URLError', 'PermissionError'],
      },
      {
        name: 'asked for plainly, it is explained',
        code: "import urllib.request\nurllib.request.urlopen('http://example.com/')",
        verdict: 'user_error',
        limits: { wallSeconds: 10 },
      },
    ],
  },
  {
    id: 55,
    what: 'namespaces, mounts, privileges',
    variants: [
      {
        name: 'new namespaces',
        code: `${PROBE}
flags = {'user': 0x10000000, 'pid': 0x20000000, 'net': 0x40000000, 'mnt': 0x20000, 'cgroup': 0x2000000, 'uts': 0x4000000, 'ipc': 0x8000000}
for name, flag in flags.items():
    attempt(f'unshare {name}', lambda: call(272, flag))
    attempt(f'clone {name}', lambda: call(56, flag | 17, 0, 0, 0, 0))
    attempt(f'clone thread {name}', lambda: call(56, flag | 0x10f00, 0, 0, 0, 0))
    attempt(f'clone3 {name}', lambda: call(435, 0, 88))
    attempt(f'setns {name}', lambda: call(308, 0, flag))
report()
`,
        answers: ['EPERM', 'ENOSYS', 'EINVAL'],
      },
      {
        name: 'mounts, roots and names',
        code: `${PROBE}
for name, number in {'mount': 165, 'umount2': 166, 'pivot_root': 155, 'chroot': 161, 'fsopen': 430, 'fsconfig': 431, 'fsmount': 432, 'fspick': 433, 'move_mount': 429, 'open_tree': 428, 'mount_setattr': 442, 'sethostname': 170, 'setdomainname': 171, 'swapon': 167, 'reboot': 169}.items():
    attempt(name, lambda: call(number, 0, 0, 0, 0, 0))
report()
`,
        answers: ['EPERM', 'ENOSYS'],
      },
      {
        name: 'ids, capabilities and priorities',
        code: `${PROBE}
attempt('setuid', lambda: os.setuid(0))
attempt('setresuid', lambda: os.setresuid(0, 0, 0))
attempt('setgroups', lambda: os.setgroups([0]))
attempt('nice', lambda: os.nice(-5))
attempt('affinity', lambda: os.sched_setaffinity(0, {0}))
attempt('scheduler', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt('capset', lambda: call(126, 0, 0))
attempt('chown', lambda: os.chown('/tmp', 0, 0))
attempt('ambient', lambda: call(157, 47, 2, 21, 0, 0))
attempt('no seccomp', lambda: call(317, 0, 0, 0))
report()
`,
        answers: ['EPERM', 'ENOSYS', 'EINVAL'],
      },
      {
        name: 'nothing is held, nothing can be gained',
        code: `import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
bounding = [n for n in range(0, 41) if libc.prctl(23, n, 0, 0, 0) == 1]
ambient = [n for n in range(0, 41) if libc.prctl(47, 1, n, 0, 0) == 1]
print(json.dumps({'noNewPrivs': libc.prctl(39, 0, 0, 0, 0), 'seccomp': libc.prctl(21, 0, 0, 0, 0), 'bounding': bounding, 'ambient': ambient, 'root': 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups())}))
`,
        stdout: '{"noNewPrivs": 1, "seccomp": 2, "bounding": [], "ambient": [], "root": false}\n',
      },
      {
        name: 'programs with the set-uid bit, and own ones',
        code: `${PROBE}
import shutil
for name in ('/usr/bin/su', '/usr/bin/passwd', '/bin/mount', '/bin/true'):
    attempt(name, lambda: os.execv(name, [name]))
shutil.copy('/usr/bin/python3', '/tmp/own')
os.chmod('/tmp/own', 0o755)
attempt('own', lambda: os.execv('/tmp/own', ['own']))
report()
`,
        answers: REFUSED,
      },
    ],
  },
];
