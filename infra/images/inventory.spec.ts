import { readFileSync } from 'node:fs';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { expect, test } from 'vitest';
import {
  bundledPackages,
  debianPackages,
  debianRelease,
  type NpmBom,
  nodeParts,
  pythonPackages,
  workspacePackages,
} from './inventory.ts';
import type { Lock } from './packages-outside.ts';
import { bomOf, npmPackages } from './sbom.ts';

const STATUS = `Package: libstdc++6
Status: install ok installed
Architecture: amd64
Source: gcc-12
Version: 12.2.0-14+deb12u1
Description: GNU Standard C++ Library v3
 Version: not this one

Package: libc6
Architecture: amd64
Source: glibc
Version: 2.36-9+deb12u14
`;

test('packages of Debian, by the names that scanners know', () => {
  const release = debianRelease('PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_ID="12"\nID=debian\n');
  expect(debianPackages(STATUS, release).map(({ purl }) => purl)).toEqual([
    'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12&upstream=gcc-12',
    'pkg:deb/debian/libc6@2.36-9%2Bdeb12u14?arch=amd64&distro=debian-12&upstream=glibc',
  ]);
});

test('every requirement of the sandbox is listed once, with its exact version', () => {
  const requirements = readFileSync(new URL('../../sandbox/requirements.txt', import.meta.url), 'utf8');
  const names = pythonPackages(requirements).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['pandas', 'numpy', 'typing-extensions']));
  expect(names).toHaveLength(requirements.match(/^\S+==/gm)?.length ?? 0);
  expect(new Set(names).size).toBe(names.length);
});

const BOM: NpmBom = {
  components: ['@moli/door@1', 'driver@2', '@types/driver@2', 'tester@1', 'beside@1'].map((ref) => ({
    type: 'library',
    'bom-ref': ref,
    name: ref.slice(ref.indexOf('/') + 1, ref.lastIndexOf('@')),
    version: ref.slice(ref.lastIndexOf('@') + 1),
  })),
  dependencies: [
    { ref: '@moli/door@1', dependsOn: ['driver@2', '@types/driver@2', 'tester@1'] },
    { ref: 'driver@2', dependsOn: ['tester@1'] },
    { ref: 'beside@1', dependsOn: ['driver@2'] },
  ],
};

const LOCK: Lock = {
  packages: {
    'services/door': { name: '@moli/door', version: '1', dependencies: { driver: '^2', '@types/driver': '^2' } },
    'node_modules/driver': {
      version: '2',
      peerDependencies: { tester: '*' },
      peerDependenciesMeta: { tester: { optional: true } },
    },
  },
};

test('of what npm lists only what is in the image stays', () => {
  const { components, dependencies } = workspacePackages(BOM, ['@moli/door'], LOCK);
  expect(components.map(({ name }) => name)).toEqual(['door', 'driver']);
  expect(dependencies).toEqual([
    { ref: '@moli/door@1', dependsOn: ['driver@2'] },
    { ref: 'driver@2', dependsOn: [] },
  ]);
});

test('of a bundle only what it is made of stays, and what npm does not know is a fault', () => {
  expect(bundledPackages(BOM, ['@moli/door@1', 'driver@2'])).toEqual(workspacePackages(BOM, ['@moli/door'], LOCK));
  expect(bundledPackages(BOM, ['@moli/door@1'])).toEqual({
    components: [BOM.components[0]],
    dependencies: [{ ref: '@moli/door@1', dependsOn: [] }],
  });
  expect(() => bundledPackages(BOM, ['driver@3'])).toThrow('driver@3');
});

test('what a service imports is listed, also where another workspace has it for its tests alone', () => {
  const listed = npmPackages(['@moli/executor']).components.map(({ 'bom-ref': ref }) =>
    ref.slice(0, ref.lastIndexOf('@')),
  );
  expect(listed).toEqual(
    expect.arrayContaining(['zod', 'bullmq', '@opentelemetry/api', '@bufbuild/protobuf', '@moli/rpc']),
  );
  expect(listed.filter((name) => /vitest|typescript|rolldown|biome/.test(name))).toEqual([]);
});

test('a workspace that npm does not list is a fault, not an empty list', () => {
  expect(() => workspacePackages(BOM, ['@moli/gate'], LOCK)).toThrow('@moli/gate');
});

test('the bill of materials fits the schema of CycloneDX', async () => {
  const components = [
    ...debianPackages(STATUS, 'debian-12'),
    ...nodeParts(process.versions as Record<string, string>),
    ...pythonPackages('pandas==2.3.3 \\\n    --hash=sha256:00\n'),
    ...workspacePackages(BOM, ['@moli/door'], LOCK).components,
  ];
  const bom = bomOf('registry.example/moli/gateway:1', 'gateway', components, BOM.dependencies.slice(0, 1));
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
  expect(await validator.validate(JSON.stringify(bom))).toBeNull();
  expect(await validator.validate(JSON.stringify({ ...bom, components: [{ type: 'library' }] }))).not.toBeNull();
});
