import { until } from '@moli/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { find, type Manifest, nameOf, template } from '../chart/helm.fixture.ts';
import { CASES } from '../chart/values.fixture.ts';
import { apply, kubectl } from './support/kubectl.ts';

const NAMESPACE = 'moli-manifests';
const SANDBOXES = `${NAMESPACE}-sandbox`;
/** Kinds of operators that a test cluster does not have. */
const FOREIGN = /^(ServiceMonitor|PrometheusRule|HTTPRoute|Certificate|SeccompProfile)$/;

const render = (name: string): Manifest[] => template(CASES[name]?.values ?? {}, { namespace: NAMESPACE });

/** Objects without a namespace, which outlive the two. */
const clusterWide = () => render('eval').filter(({ kind }) => /^ValidatingAdmissionPolicy/.test(kind));

/** A namespace without Pod Security: what is refused here is refused by the chart's own policy. */
const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** One that the chart was not told of; admission looks for it before it asks policies. */
const runtimeClass = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: NAMESPACE },
  handler: 'runc',
};

/** The Pod that the pool's Deployment would make. */
function sandboxPod(): Manifest {
  const { metadata, spec } = find(render('eval'), 'Deployment/moli-sandbox-python').spec.template;
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'tried', namespace: SANDBOXES }, spec };
}

const serverSays = (object: Manifest): Promise<string> =>
  kubectl(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(object) });

beforeAll(async () => {
  await apply(namespace(NAMESPACE), namespace(SANDBOXES));
  const accounts = render('eval').filter(({ kind }) => kind === 'ServiceAccount');
  await apply(...accounts, ...clusterWide(), runtimeClass);
  // A new policy is in force a moment after it was taken.
  const open = { ...sandboxPod(), spec: { ...sandboxPod().spec, hostNetwork: true } };
  await until(async () => (await serverSays(open).catch((error: Error) => error.message)).includes('hostNetwork'), {
    what: 'the policy is in force',
    timeoutMs: 30_000,
  });
});

afterAll(async () => {
  await kubectl(['delete', '-f', '-', '--ignore-not-found'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...clusterWide(), runtimeClass] }),
  });
  await kubectl(['delete', 'namespace', NAMESPACE, SANDBOXES, '--wait=false']);
});

it.each(Object.keys(CASES))('the API server takes every object of the case %s', async (name) => {
  // Namespaces are there; unknown fields and wrong kinds are refused by strict validation.
  const objects = render(name).filter(({ kind, metadata }) => {
    const inside = metadata.namespace === undefined || [NAMESPACE, SANDBOXES].includes(metadata.namespace);
    return inside && kind !== 'Namespace' && !FOREIGN.test(kind);
  });
  const said = await kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  });
  expect(said.trim().split('\n')).toHaveLength(objects.length);
});

interface BadPod {
  readonly what: string;
  readonly change: (spec: Manifest, box: Manifest, courier: Manifest) => void;
  readonly reason: RegExp;
}

const BAD: readonly BadPod[] = [
  {
    what: 'the network of the node',
    change: (spec) => {
      spec.hostNetwork = true;
    },
    reason: /hostNetwork/,
  },
  {
    what: 'the processes of the node',
    change: (spec) => {
      spec.hostPID = true;
    },
    reason: /hostPID/,
  },
  {
    what: 'a folder of the node',
    change: (spec) => {
      spec.volumes.push({ name: 'h', hostPath: { path: '/' } });
    },
    reason: /no hostPath/,
  },
  {
    what: 'a Secret',
    change: (spec) => {
      spec.volumes.push({ name: 's', secret: { secretName: 'x' } });
    },
    reason: /no Secret/,
  },
  {
    what: 'a folder on disk',
    change: (spec) => {
      spec.volumes[0].emptyDir = {};
    },
    reason: /in memory and have a sizeLimit/,
  },
  {
    what: 'a token for the API server',
    change: (spec) => {
      tokenOf(spec).serviceAccountToken.audience = undefined;
    },
    reason: /audience moli-executor/,
  },
  {
    what: 'a token that lives for a day',
    change: (spec) => {
      tokenOf(spec).serviceAccountToken.expirationSeconds = 86_400;
    },
    reason: /600 s/,
  },
  {
    what: 'the courier’s token in the sandbox',
    change: (_, box) => {
      box.volumeMounts.push({ name: 'token', mountPath: '/token' });
    },
    reason: /only the container courier mounts a token/,
  },
  {
    what: 'the token of the account',
    change: (spec) => {
      spec.automountServiceAccountToken = true;
    },
    // The API server adds the token first, and that is seen first.
    reason: /automountServiceAccountToken: false|audience moli-executor/,
  },
  {
    what: 'another account',
    change: (spec) => {
      spec.serviceAccountName = 'default';
    },
    reason: /service account moli-sandbox/,
  },
  {
    what: 'privilege',
    change: (_, box) => {
      box.securityContext.privileged = true;
      delete box.securityContext.allowPrivilegeEscalation;
    },
    reason: /not privileged/,
  },
  {
    what: 'a way to more privilege',
    change: (_, box) => {
      delete box.securityContext.allowPrivilegeEscalation;
    },
    reason: /allowPrivilegeEscalation: false/,
  },
  {
    what: 'an added capability',
    change: (_, box) => {
      box.securityContext.capabilities.add = ['NET_ADMIN'];
    },
    reason: /drop ALL capabilities/,
  },
  {
    what: 'a root folder to write to',
    change: (_, box) => {
      box.securityContext.readOnlyRootFilesystem = false;
    },
    reason: /readOnlyRootFilesystem/,
  },
  {
    what: 'root',
    change: (_, box) => {
      box.securityContext.runAsUser = 0;
    },
    reason: /not root/,
  },
  {
    what: 'no profile of system calls',
    change: (_, box) => {
      box.securityContext.seccompProfile = { type: 'Unconfined' };
    },
    reason: /seccomp profile Localhost/,
  },
  {
    what: 'another profile of system calls',
    change: (_, box) => {
      box.securityContext.seccompProfile.localhostProfile = 'profiles/open.json';
    },
    reason: /profiles\/moli-sandbox\.json/,
  },
  {
    what: 'an unconfined courier',
    change: (_, __, courier) => {
      courier.securityContext.seccompProfile = { type: 'Unconfined' };
    },
    reason: /every other RuntimeDefault/,
  },
  {
    what: 'no limit of memory',
    change: (_, box) => {
      delete box.resources.limits.memory;
    },
    reason: /limits of cpu, memory and ephemeral-storage/,
  },
  {
    what: 'a foreign image',
    change: (_, box) => {
      box.image = 'docker.io/library/busybox:1';
    },
    reason: /nothing else/,
  },
  {
    what: 'an image whose name begins like ours',
    change: (_, box) => {
      box.image = `${box.image.split(':')[0]}-extra:1`;
    },
    reason: /nothing else/,
  },
  {
    what: 'a third container',
    change: (spec, _, courier) => {
      spec.containers.push({ ...courier, name: 'third', volumeMounts: [] });
    },
    reason: /nothing else/,
  },
  {
    what: 'another runtime class',
    change: (spec) => {
      spec.runtimeClassName = NAMESPACE;
    },
    reason: /runtime class/,
  },
];

/** The projected token of a Pod. */
function tokenOf(spec: Manifest): Manifest {
  return spec.volumes.find(({ name }: Manifest) => name === 'token').projected.sources[0];
}

describe('the admission policy of the sandbox namespace', () => {
  it('takes the Pod of the chart', async () => {
    expect(await serverSays(sandboxPod())).toContain('created');
  });

  it.each(BAD.map((one) => [one.what, one] as const))('refuses a Pod with %s', async (_, { change, reason }) => {
    const pod = structuredClone(sandboxPod());
    change(pod.spec, pod.spec.initContainers[0], pod.spec.containers[0]);
    await expect(serverSays(pod)).rejects.toThrow(reason);
  });

  it('finds no fault in itself', async () => {
    for (const policy of clusterWide().filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')) {
      const path = '{.status.typeChecking.expressionWarnings}';
      const args = ['get', 'validatingadmissionpolicy', policy.metadata.name, '-o', `jsonpath=${path}`];
      expect([nameOf(policy), await kubectl(args)]).toEqual([nameOf(policy), '']);
    }
  });
});
