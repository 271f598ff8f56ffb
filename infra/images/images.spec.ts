import { expect, test } from 'vitest';
import { Failure } from '../launcher/failure.ts';
import { imagesIn } from './chart-images.ts';
import { run } from './commands.ts';
import { findEngine } from './engine.ts';
import { howToLoad, namesIn } from './how-to-load.ts';
import { imageName } from './names.ts';

const failure = (work: () => unknown): Failure => {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it did not fail');
};

test('names as the chart writes them', () => {
  expect(imageName('gateway', 'registry.example/team/', '1.2')).toBe('registry.example/team/moli/gateway:1.2');
  expect(imageName('sandbox', '', '1.2')).toBe('moli/sandbox:1.2');
});

test('images of every kind of object, each once', () => {
  const manifests = `
apiVersion: apps/v1
kind: Deployment
spec: { template: { spec: { initContainers: [{ image: "b:2" }], containers: [{ image: "a:1" }, { image: "b:2" }] } } }
---
apiVersion: batch/v1
kind: CronJob
spec: { jobTemplate: { spec: { template: { spec: { containers: [{ image: c@sha256:00 }] } } } } }
---
kind: ConfigMap
data: { text: "image: not-one:1" }
---
`;
  expect(imagesIn(manifests)).toEqual(['a:1', 'b:2', 'c@sha256:00']);
});

test('in another registry images have the names that the chart gives them there', () => {
  const bare = ['moli/gateway:1', 'postgres:18', 'quay.io/team/app:1'];
  const there = ['r.example/moli/gateway:1', 'r.example/postgres:18', 'r.example/quay.io/team/app:1'];
  expect(namesIn('r.example', bare)).toEqual(there);
  const elsewhere = bare.map((image) => `host:5000/mirror/${image}`);
  expect(namesIn('r.example', elsewhere)).toEqual(there);
});

test('both languages say the same commands', () => {
  const { zh, en } = howToLoad(['moli/gateway:1', 'postgres:18']);
  for (const command of [
    'sha256sum -c',
    'docker load',
    'podman load',
    'ctr -n k8s.io',
    'docker push registry.example/postgres:18',
  ]) {
    expect(zh).toContain(command);
    expect(en).toContain(command);
  }
});

test('an engine that is not one, or does not work, is named with what to do', () => {
  expect(failure(() => findEngine('kaniko')).text.en).toContain('none of docker, podman and buildah');
  const { zh, en } = failure(() => findEngine('/nowhere/podman --remote')).text;
  expect(en).toContain('/nowhere/podman --remote does not work');
  expect(en).toContain('not installed');
  expect(zh).toContain('不能工作');
});

test.each([[['build', 'gatway']], [['save']], [['list', '--bogus']], [['push']], [[]]])(
  '%j is wrong usage',
  async (argv) => {
    await expect(run(argv)).rejects.toMatchObject({ name: 'UsageError' });
  },
);
