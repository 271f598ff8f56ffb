import type { V1Pod, V1TokenReviewStatus } from '@kubernetes/client-node';
import { type Hello, ProbeOutcome } from '@moli/rpc';
import { describe, expect, it } from 'vitest';
import { addressOf } from './courier.server.ts';
import { checkHello } from './hello.check.ts';
import { boundPod, checkPod, type SandboxIdentity } from './pod.checks.ts';

const identity: SandboxIdentity = {
  namespace: 'sandboxes',
  serviceAccount: 'moli-sandbox',
  profiles: new Set(['python', 'python-big']),
};

const hello: Hello = {
  podName: 'moli-sandbox-python-abc12-xyz',
  podUid: 'uid-1',
  profile: 'python',
  strength: 'userns+landlock+seccomp+cgroup',
  sandboxFault: '',
  probes: [{ kind: 'metadata', target: '169.254.169.254:80', outcome: ProbeOutcome.BLOCKED, detail: 'no answer' }],
  canaryPort: 9_444,
};

function review(more: Partial<V1TokenReviewStatus> = {}): V1TokenReviewStatus {
  return {
    authenticated: true,
    audiences: ['moli-executor'],
    user: {
      username: 'system:serviceaccount:sandboxes:moli-sandbox',
      extra: {
        'authentication.kubernetes.io/pod-name': ['moli-sandbox-python-abc12-xyz'],
        'authentication.kubernetes.io/pod-uid': ['uid-1'],
      },
    },
    ...more,
  };
}

function pod(change: (pod: V1Pod) => unknown = () => {}): V1Pod {
  const made: V1Pod = {
    metadata: {
      name: 'moli-sandbox-python-abc12-xyz',
      uid: 'uid-1',
      labels: { 'pod-template-hash': 'abc12', 'moli.dev/profile': 'python' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'moli-sandbox-python-abc12', uid: 'rs', controller: true },
      ],
    },
    spec: { serviceAccountName: 'moli-sandbox', containers: [] },
    status: { podIP: '10.0.0.7', podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }] },
  };
  change(made);
  return made;
}

describe('the token', () => {
  it('names the Pod that it is bound to', () => {
    expect(boundPod(review(), identity)).toEqual({ name: 'moli-sandbox-python-abc12-xyz', uid: 'uid-1' });
  });

  it.each<[string, Partial<V1TokenReviewStatus>, string]>([
    ['forged', { authenticated: false, error: 'invalid bearer token' }, 'token_rejected'],
    ['expired', { authenticated: false, error: 'token has expired' }, 'token_rejected'],
    ['for another audience', { authenticated: false, error: 'token audiences ["x"] is invalid' }, 'token_audience'],
    ['without our audience', { audiences: ['https://kubernetes.default'] }, 'token_audience'],
    ['of another account', { user: { username: 'system:serviceaccount:sandboxes:default' } }, 'wrong_account'],
    [
      'without a Pod',
      { user: { username: 'system:serviceaccount:sandboxes:moli-sandbox', extra: {} } },
      'token_unbound',
    ],
  ])('is refused when it is %s', (_what, more, reason) => {
    expect(() => boundPod(review(more), identity)).toThrow(expect.objectContaining({ reason }));
  });
});

describe('the Pod', () => {
  it('is taken as the API server knows it', () => {
    const ref = { name: 'moli-sandbox-python-abc12-xyz', uid: 'uid-1', profile: 'python' };
    expect(checkPod(pod(), hello, '10.0.0.7', identity)).toEqual({ ...ref, ip: '10.0.0.7' });
    expect(checkPod(pod(), hello, 'fd00::7', identity)).toEqual({ ...ref, ip: 'fd00::7' });
  });

  const owner = (name: string, more: object = {}) => [
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: 'rs', controller: true, ...more },
  ];
  it.each<[string, (pod: V1Pod) => unknown, string]>([
    ['is another one', ({ metadata }) => Object.assign(metadata!, { uid: 'uid-2' }), 'other_pod'],
    [
      'is being deleted',
      ({ metadata }) => Object.assign(metadata!, { deletionTimestamp: new Date() }),
      'pod_terminating',
    ],
    ['runs as somebody else', ({ spec }) => Object.assign(spec!, { serviceAccountName: 'default' }), 'wrong_account'],
    ['belongs to nobody', ({ metadata }) => Object.assign(metadata!, { ownerReferences: [] }), 'wrong_owner'],
    [
      'belongs to a Job',
      ({ metadata }) =>
        Object.assign(metadata!, { ownerReferences: owner('moli-sandbox-python-abc12', { kind: 'Job' }) }),
      'wrong_owner',
    ],
    [
      'is only named by an owner that does not control it',
      ({ metadata }) =>
        Object.assign(metadata!, { ownerReferences: owner('moli-sandbox-python-abc12', { controller: false }) }),
      'wrong_owner',
    ],
    [
      'belongs to another pool',
      ({ metadata }) => Object.assign(metadata!, { ownerReferences: owner('other-python-abc12') }),
      'wrong_owner',
    ],
    [
      'has another template hash than its owner',
      ({ metadata }) => Object.assign(metadata!.labels!, { 'pod-template-hash': 'other' }),
      'relabelled',
    ],
    [
      'has another profile label',
      ({ metadata }) => Object.assign(metadata!.labels!, { 'moli.dev/profile': 'gpu' }),
      'relabelled',
    ],
  ])('is refused when it %s', (_what, change, reason) => {
    expect(() => checkPod(pod(change), hello, '10.0.0.7', identity)).toThrow(expect.objectContaining({ reason }));
  });

  it('is refused when it dials from elsewhere or says another profile', () => {
    expect(() => checkPod(pod(), hello, '10.0.0.8', identity)).toThrow(
      expect.objectContaining({ reason: 'wrong_address' }),
    );
    expect(() => checkPod(pod(), { ...hello, profile: 'python-big' }, '10.0.0.7', identity)).toThrow(
      expect.objectContaining({ reason: 'wrong_profile' }),
    );
  });

  it('is told from a pool whose name begins alike', () => {
    const big = pod(({ metadata }) => {
      metadata!.ownerReferences = owner('moli-sandbox-python-big-abc12');
      metadata!.labels!['moli.dev/profile'] = 'python-big';
    });
    expect(checkPod(big, { ...hello, profile: 'python-big' }, '10.0.0.7', identity).profile).toBe('python-big');
  });
});

describe('what the courier says', () => {
  const required = 'userns+landlock+seccomp';
  const probe = (kind: string, outcome: ProbeOutcome) => ({ kind, target: '10.0.0.1:443', outcome, detail: 'seen' });

  it('is enough when the sandbox is strong and nothing was reached', () => {
    expect(() => checkHello(hello, required)).not.toThrow();
  });

  it.each<[string, Partial<Hello>, string]>([
    ['its sandbox is not ready', { sandboxFault: 'no user namespaces' }, 'sandbox_not_ready'],
    ['its sandbox is weaker', { strength: 'landlock+seccomp' }, 'sandbox_weak'],
    ['its sandbox says nothing', { strength: '' }, 'sandbox_weak'],
    ['it tried nothing', { probes: [] }, 'protocol'],
    ['it reached something', { probes: [probe('api-server', ProbeOutcome.REACHED)] }, 'isolation_broken'],
    ['it cannot reach the object store', { probes: [probe('objects', ProbeOutcome.FAILED)] }, 'objects_unreachable'],
    ['it leaves an outcome out', { probes: [probe('node', ProbeOutcome.UNSPECIFIED)] }, 'objects_unreachable'],
  ])('is refused when %s', (_what, more, reason) => {
    expect(() => checkHello({ ...hello, ...more }, required)).toThrow(expect.objectContaining({ reason }));
  });
});

it('reads the address of a peer in every form', () => {
  expect(addressOf('10.0.0.7:40000')).toBe('10.0.0.7');
  expect(addressOf('::ffff:10.0.0.7:40000')).toBe('10.0.0.7');
  expect(addressOf('[fd00::7]:40000')).toBe('fd00::7');
});
