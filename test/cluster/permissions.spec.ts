import { expect, test } from 'vitest';
import { Installation } from './support/installation.ts';
import { kubectl } from './support/kubectl.ts';

const { place } = Installation.shared();
const POOL = 'moli-sandbox-python';

type Who = 'executor' | 'gateway' | 'sandbox' | 'default';

const ACCOUNTS: Readonly<Record<Who, string>> = {
  executor: `${place.namespace}:${place.release}-executor`,
  gateway: `${place.namespace}:${place.release}-gateway`,
  sandbox: `${place.sandboxNamespace}:moli-sandbox`,
  default: `${place.namespace}:default`,
};

/** Where: the sandbox namespace, that of the release, another one, or the whole cluster. */
const NAMESPACES = {
  sandbox: ['-n', place.sandboxNamespace],
  release: ['-n', place.namespace],
  other: ['-n', 'kube-system'],
  cluster: [],
} as const;

interface Question {
  readonly who: Who;
  readonly verb: string;
  readonly what: string;
  readonly where: keyof typeof NAMESPACES;
}

/** `executor: get,list pods @sandbox` asks two questions. */
function questions(lines: string): Question[] {
  return lines
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [, who, verbs = '', whats = '', where] = /^(\w+): (\S+) (\S+) @(\w+)$/.exec(line.trim()) ?? [];
      return verbs
        .split(',')
        .flatMap((verb) =>
          whats.split(',').map((what) => ({ who: who as Who, verb, what, where: where as Question['where'] })),
        );
    });
}

const ALLOWED = questions(`
  executor: get,list,watch,delete pods @sandbox
  executor: get deployments.apps/${POOL} @sandbox
  executor: patch deployments.apps/${POOL}/scale @sandbox
  executor: create tokenreviews.authentication.k8s.io @cluster
`);

const REFUSED = questions(`
  executor: create,update,patch pods @sandbox
  executor: create pods/exec,pods/attach,pods/portforward,pods/eviction @sandbox
  executor: get pods/log @sandbox
  executor: get,list secrets,configmaps @sandbox
  executor: patch deployments.apps/${POOL} @sandbox
  executor: patch deployments.apps/another/scale @sandbox
  executor: list,watch,delete deployments.apps @sandbox
  executor: get,list,delete pods,secrets @release
  executor: get,list,delete pods,secrets @other
  executor: list nodes,namespaces @cluster
  executor: create subjectaccessreviews.authorization.k8s.io @cluster
  gateway: get,list,create pods,secrets @release
  gateway: get,list,create pods,secrets @sandbox
  gateway: create tokenreviews.authentication.k8s.io @cluster
  sandbox: get,list,create pods,secrets @sandbox
  sandbox: create tokenreviews.authentication.k8s.io @cluster
  default: get,list,create pods,secrets @release
`);

/** `deployments.apps/NAME/scale` is kubectl's `deployments.apps/NAME --subresource=scale`; `pods/exec` is `pods --subresource=exec`. */
async function can({ who, verb, what, where }: Question): Promise<boolean> {
  const [resource = '', ...rest] = what.split('/');
  const named = resource.includes('.') && rest.length > 0;
  const subresource = named ? rest[1] : rest[0];
  const target = named ? `${resource}/${rest[0]}` : resource;
  const args = ['auth', 'can-i', verb, target, ...(subresource ? [`--subresource=${subresource}`] : [])];
  const said = await kubectl([...args, ...NAMESPACES[where], `--as=system:serviceaccount:${ACCOUNTS[who]}`]).catch(
    (error: Error) => {
      // Exit status 1 and nothing else means no.
      if (/error|unable|doesn't have/i.test(error.message.split(': ').slice(1).join(': '))) throw error;
      return 'no';
    },
  );
  return said.trim() === 'yes';
}

const name = ({ who, verb, what, where }: Question): string => `${who} ${verb} ${what} @${where}`;

test.each(ALLOWED.map((one) => [name(one), one] as const))('%s is allowed', async (_, one) => {
  expect(await can(one)).toBe(true);
});

test.each(REFUSED.map((one) => [name(one), one] as const))('%s is refused', async (_, one) => {
  expect(await can(one)).toBe(false);
});
