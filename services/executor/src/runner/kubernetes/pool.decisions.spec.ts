import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { whyNot } from './cluster.fault.ts';
import { DampedSize, RefillTime, wantedSize } from './pool.size.ts';
import { type PodFacts, reapingOf } from './reaper.ts';
import { shortageOf } from './shortage.ts';
import { TokenBucket } from './token.bucket.ts';

const bounds = { min: 2, max: 10 };

describe('the size of a pool', () => {
  it('is one Pod for each run and spare ones, within its bounds', () => {
    expect(wantedSize({ waiting: 0, running: 0, rate: 0, refillSeconds: 5 }, bounds)).toBe(2);
    expect(wantedSize({ waiting: 0, running: 2, rate: 0, refillSeconds: 5 }, bounds)).toBe(3);
    expect(wantedSize({ waiting: 4, running: 2, rate: 0.1, refillSeconds: 5 }, bounds)).toBe(7);
    expect(wantedSize({ waiting: 0, running: 1, rate: 1, refillSeconds: 5 }, bounds)).toBe(6);
    expect(wantedSize({ waiting: 100, running: 0, rate: 5, refillSeconds: 5 }, bounds)).toBe(10);
    expect(wantedSize({ waiting: 0, running: 0, rate: 0, refillSeconds: 5 }, { min: 0, max: 3 })).toBe(1);
  });

  it('has more spare Pods where they take longer to start', () => {
    const demand = { waiting: 0, running: 1, rate: 0.5 };
    expect([2, 5, 12].map((refillSeconds) => wantedSize({ ...demand, refillSeconds }, bounds))).toEqual([2, 4, 7]);
    const refill = new RefillTime();
    expect(refill.seconds).toBe(5);
    for (const seconds of [9, 2, 3]) refill.note(seconds);
    expect(refill.seconds).toBe(3);
    refill.note(3_600);
    expect(refill.seconds).toBe(3);
    for (let n = 0; n < 15; n += 1) refill.note(45);
    expect(refill.seconds).toBe(30);
  });

  it('grows at once and shrinks to the most that was wanted within a minute', () => {
    const damped = new DampedSize();
    expect(damped.next(2, 0)).toBe(2);
    expect(damped.next(8, 1_000)).toBe(8);
    expect(damped.next(2, 30_000)).toBe(8);
    expect(damped.next(4, 40_000)).toBe(8);
    expect(damped.next(2, 61_500)).toBe(4);
    expect(damped.next(2, 101_000)).toBe(2);
  });
});

describe('the reaper', () => {
  const identity = { namespace: 'sandboxes', serviceAccount: 'moli-sandbox', profiles: new Set(['python']) };
  const now = Date.now();
  const free = { holder: null, used: false, refused: null };

  function facts(more: Partial<PodFacts> = {}, change: (pod: V1Pod) => unknown = () => {}): PodFacts {
    const pod: V1Pod = {
      metadata: {
        labels: { 'pod-template-hash': 'abc12', 'moli.dev/profile': 'python' },
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'moli-sandbox-python-abc12', uid: 'rs', controller: true },
        ],
      },
      spec: { serviceAccountName: 'moli-sandbox', containers: [] },
      status: { phase: 'Running' },
    };
    change(pod);
    return { pod, use: free, ours: null, aloneSince: null, ...more };
  }
  const unlabelled = ({ metadata }: V1Pod): unknown => Object.assign(metadata!, { labels: {} });
  const orphaned = ({ metadata }: V1Pod): unknown => Object.assign(metadata!, { ownerReferences: [] });
  const why = (one: PodFacts): string | null => reapingOf(one, identity, now)?.why ?? null;

  it.each<[string, PodFacts, RegExp]>([
    ['had its run', facts({ use: { ...free, used: true } }), /had its run/],
    ['is finished', facts({}, ({ status }) => Object.assign(status!, { phase: 'Failed' })), /Failed/],
    ['lost its label', facts({}, unlabelled), /pod-template-hash/],
    ['lost its owner', facts({}, orphaned), /belongs to nobody/],
    ['lost its owner while it waits with us', facts({ ours: 'idle' }, orphaned), /belongs to nobody/],
    ['has been alone for long', facts({ aloneSince: now - 8_000 }), /no executor/],
    [
      'is stuck in its deletion',
      facts({}, ({ metadata }) => Object.assign(metadata!, { deletionTimestamp: new Date(now - 60_000) })),
      /stuck/,
    ],
  ])('deletes a Pod that %s', (_what, one, reason) => {
    expect(why(one)).toMatch(reason);
  });

  it.each<[string, PodFacts]>([
    ['runs something here', facts({ ours: 'busy', use: { ...free, used: true } }, orphaned)],
    ['is with a living executor', facts({ use: { holder: 'x', used: true, refused: null } }, orphaned)],
    ['waits with us', facts({ ours: 'idle' })],
    ['is only just up', facts({ aloneSince: now - 3_000 })],
    ['is starting', facts({}, ({ status }) => Object.assign(status!, { phase: 'Pending' }))],
    [
      'was refused for a reason that passes',
      facts({ aloneSince: 0, use: { ...free, refused: 'objects_unreachable' } }),
    ],
    ['is being deleted', facts({}, ({ metadata }) => Object.assign(metadata!, { deletionTimestamp: new Date(now) }))],
    ['was not made by us', facts({}, ({ spec }) => Object.assign(spec!, { serviceAccountName: 'default' }))],
  ])('leaves a Pod that %s', (_what, one) => {
    expect(why(one)).toBeNull();
  });

  it('bounds only what could repeat without end', () => {
    expect(reapingOf(facts({ aloneSince: 0 }), identity, now)?.limited).toBe(true);
    expect(reapingOf(facts({ use: { ...free, used: true } }), identity, now)?.limited).toBe(false);
    const bucket = new TokenBucket(2, 1_000);
    expect([bucket.take(0), bucket.take(0), bucket.take(0), bucket.take(999), bucket.take(1_000)]).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
  });
});

describe('the shortage', () => {
  const deployment = (more: V1Deployment = {}): V1Deployment => ({ spec: { replicas: 2 } as never, ...more });
  const waiting = (reason: string, message: string, init = false): V1Pod => {
    const statuses = [{ name: 'sandbox', state: { waiting: { reason, message } } }] as never;
    return {
      metadata: { name: 'p' },
      status: init ? { initContainerStatuses: statuses } : { containerStatuses: statuses },
    };
  };
  const failed = (message: string): V1Deployment =>
    deployment({
      status: { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message }] },
    });

  it.each<[string, V1Deployment | null, V1Pod[], RegExp]>([
    ['no Deployment', null, [], /Deployment moli-sandbox-python is not there/],
    ['scale 0', deployment({ spec: { replicas: 0 } as never }), [], /scaled to 0/],
    ['quota', failed('pods "x" is forbidden: exceeded quota: moli'), [], /quota of the namespace is full/],
    [
      'admission',
      failed('pods "x" is forbidden: violates PodSecurity "restricted:latest"'),
      [],
      /refused by admission/,
    ],
    [
      'admission of another profile',
      failed(`ValidatingAdmissionPolicy 'p' denied request: the container sandbox has the seccomp profile Localhost x`),
      [],
      /refused by admission/,
    ],
    ['image', deployment(), [waiting('ImagePullBackOff', 'Back-off pulling image')], /image cannot be pulled/],
    [
      'seccomp profile',
      deployment(),
      [waiting('CreateContainerError', 'cannot load seccomp profile "/var/lib/kubelet/seccomp/x.json"', true)],
      /seccomp profile is missing on the node/,
    ],
    [
      'no room',
      deployment(),
      [
        {
          metadata: { name: 'p' },
          status: {
            conditions: [
              {
                type: 'PodScheduled',
                status: 'False',
                reason: 'Unschedulable',
                message: '0/1 nodes: Insufficient cpu',
              },
            ],
          },
        },
      ],
      /no node has room/,
    ],
  ])('names %s', (_what, about, pods, text) => {
    expect(shortageOf('python', about, pods)).toMatch(text);
  });

  it('tells an API server that is gone from a fault of our own', () => {
    const gone = new TypeError('fetch failed', {
      cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
    });
    expect(whyNot(gone)).toMatch(/API server does not answer \(ECONNREFUSED\)/);
    expect(whyNot(new TypeError('x is not a function'))).toMatch(/fault of the executor itself.*x is not a function/);
  });

  it('says nothing of Pods that are on their way', () => {
    expect(shortageOf('python', deployment(), [waiting('ContainerCreating', '')])).toBeNull();
  });
});
