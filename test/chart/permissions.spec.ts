import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { find, HELM, type Manifest, template } from './helm.fixture.ts';
import { EVAL } from './values.fixture.ts';

const POOLS = ['moli-sandbox-python'];

/** Rows of the executor's table: where, API group, resource, named objects, verbs. */
function documented(): string[] {
  const text = readFileSync(new URL('../../docs/permissions.md', import.meta.url), 'utf8');
  const table = text.split('## Executor')[1]?.split('\n## ')[0] ?? '';
  return table
    .split('\n')
    .filter((line) => /^\| (sandbox namespace|whole cluster) /.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, 6)
        .map((cell) => cell.trim())
        .join(' | '),
    );
}

function rendered(role: Manifest, where: string): string[] {
  return role.rules.flatMap(({ apiGroups, resources, resourceNames, verbs }: Manifest) => {
    if (resourceNames) expect(resourceNames).toEqual(POOLS);
    return resources.map((resource: string) =>
      [where, apiGroups[0] || 'core', resource, resourceNames ? 'the pools' : '–', [...verbs].sort().join(', ')].join(
        ' | ',
      ),
    );
  });
}

describe.skipIf(!HELM)('the permissions', () => {
  it('are those of docs/permissions.md', () => {
    const manifests = template(EVAL);
    expect([
      ...rendered(find(manifests, 'Role/moli-executor'), 'sandbox namespace'),
      ...rendered(find(manifests, 'ClusterRole/bank-moli-executor'), 'whole cluster'),
    ]).toEqual(documented());
  });

  it('are bound to the executor alone', () => {
    const bindings = template(EVAL).filter(({ kind }) => /Binding$/.test(kind) && !/^Validating/.test(kind));
    expect(bindings).toHaveLength(2);
    for (const { subjects } of bindings) {
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'moli-executor', namespace: 'bank' }]);
    }
  });
});
