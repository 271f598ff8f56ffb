import { describe, expect, it } from 'vitest';
import { find, HELM, lint, type Manifest, nameOf, snapshot, template } from './helm.fixture.ts';
import { CASES, EVAL, PRODUCTION } from './values.fixture.ts';

/** Pods of all kinds, with the name of the object that makes them. */
function pods(manifests: readonly Manifest[]): { name: string; spec: Manifest }[] {
  return manifests.flatMap((one) => {
    const spec = one.kind === 'Pod' ? one.spec : one.spec?.template?.spec;
    return spec?.containers ? [{ name: nameOf(one), spec }] : [];
  });
}

const containersOf = (spec: Manifest): Manifest[] => [...(spec.initContainers ?? []), ...spec.containers];

describe.skipIf(!HELM)('the chart', () => {
  it.each(Object.entries(CASES))('renders the case %s as it did, and lints', async (name, { values, shows }) => {
    const manifests = template(values);
    const shown = shows ? shows.map((one) => find(manifests, one)) : manifests;
    await expect(snapshot(shown)).toMatchFileSnapshot(`snapshots/${name}.yaml`);
    expect(lint(values)).toContain('0 chart(s) failed');
  });

  it.each(Object.entries(CASES))('keeps every Pod of the case %s under the strictest rules', (_, { values }) => {
    for (const { name, spec } of pods(template(values))) {
      expect([name, spec.enableServiceLinks]).toEqual([name, false]);
      if (name !== 'Deployment/moli-executor') {
        expect([name, spec.automountServiceAccountToken]).toEqual([name, false]);
      }
      expect([name, spec.securityContext.seccompProfile]).toEqual([name, { type: 'RuntimeDefault' }]);
      // The installer alone is root, without capabilities, to write a folder that is root's.
      if (!name.endsWith('-seccomp')) expect([name, spec.securityContext.runAsNonRoot]).toEqual([name, true]);
      for (const { name: container, securityContext, resources } of containersOf(spec)) {
        expect([name, container, securityContext]).toMatchObject([
          name,
          container,
          { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        ]);
        expect([name, container, Boolean(resources.limits.memory && resources.requests.memory)]).toEqual([
          name,
          container,
          true,
        ]);
      }
    }
  });

  it('puts the registry before every image', () => {
    const values = { image: { registry: 'mirror.local:5000/moli/' }, ...EVAL };
    const images = pods(template(values)).flatMap(({ spec }) => containersOf(spec).map(({ image }) => image));
    expect(new Set(images.map((image) => image.replace(/^mirror\.local:5000\/moli\//, '')))).toEqual(
      new Set([
        'moli/gateway:0.1.0',
        'moli/executor:0.1.0',
        'moli/courier:0.1.0',
        'moli/sandbox:0.1.0',
        'postgres:18.1-bookworm',
        'redis:8.4-bookworm',
        'chrislusf/seaweedfs:4.48',
      ]),
    );
    expect(images.every((image) => image.startsWith('mirror.local:5000/moli/'))).toBe(true);
  });

  it('gives the owner of the database to the migration alone, and nothing of it to the executor', () => {
    for (const { name, spec } of pods(template(PRODUCTION))) {
      for (const { name: container, env = [] } of containersOf(spec)) {
        const names = env.map(({ name: variable }: { name: string }) => variable);
        expect([container, names.includes('MOLI_DATABASE_OWNER_URL')]).toEqual([container, container === 'migrate']);
        if (name.includes('executor') || name.includes('sandbox')) {
          expect(names.filter((one: string) => /DATABASE|S3|MOLI_SECRET$|MODEL/.test(one))).toEqual([]);
        }
      }
    }
  });

  it('holds no secret outside of a Secret', () => {
    const values = CASES['values-in-clear']?.values ?? {};
    const outside = template(values).filter(({ kind }) => kind !== 'Secret');
    expect(JSON.stringify(outside)).not.toMatch(/p%40ss|p@ss|:secret@|"value":"(a|b|k)"/);
  });

  it('gives sandboxes no other way out than the executor, the object store and names', () => {
    const { spec } = find(template(PRODUCTION), 'NetworkPolicy/moli-sandbox-courier');
    expect(spec.policyTypes).toEqual(['Egress']);
    expect(spec.egress.map(({ ports }: Manifest) => ports.map(({ port }: Manifest) => port))).toEqual([
      [53, 53],
      [9443],
      [443],
    ]);
    expect(spec.egress[2].to).toEqual([{ ipBlock: { cidr: '10.9.0.0/24' } }]);
    expect(find(template(PRODUCTION), 'NetworkPolicy/moli-sandbox-deny').spec).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
  });

  it('leaves out what is done by other means', () => {
    const names = template(CASES['by-other-means']?.values ?? {}).map(nameOf);
    expect(names.filter((name) => /^(NetworkPolicy|Namespace|DaemonSet|SeccompProfile)\/|-access$/.test(name))).toEqual(
      [],
    );
    expect(names).toContain('ValidatingAdmissionPolicy/bank-moli-sandbox');
  });

  it('names everything after its release', () => {
    const names = template(EVAL, { release: 'prod' }).map(nameOf);
    expect(names).toContain('Deployment/prod-moli-gateway');
    expect(names).toContain('ClusterRole/bank-prod-moli-executor');
    // What the executor finds by name.
    expect(names).toContain('Deployment/moli-sandbox-python');
  });

  it('marks the servers of a trial as not for production', () => {
    for (const one of template(EVAL).filter(({ metadata }) => /-(postgres|redis|s3)$/.test(metadata.name))) {
      expect([nameOf(one), one.metadata.labels['moli.dev/not-for-production']]).toEqual([nameOf(one), 'true']);
    }
  });
});
