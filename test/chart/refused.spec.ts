import { describe, expect, it } from 'vitest';
import { HELM, template, type Values } from './helm.fixture.ts';
import { EVAL, PRODUCTION } from './values.fixture.ts';

/** A typo or a missing partner, and the name of the field that the message has to carry. */
const REFUSED: readonly (readonly [string, Values, RegExp])[] = [
  ['a key that is not there', { ...EVAL, postgress: {} }, /additional properties 'postgress' not allowed/],
  ['a nested key that is not there', { ...EVAL, gateway: { replica: 3 } }, /'\/gateway'.*'replica' not allowed/],
  ['a number as text', { ...EVAL, gateway: { replicas: 'two' } }, /\/gateway\/replicas/],
  [
    'a limit of a profile that is not there',
    { ...EVAL, sandbox: { profiles: { python: { limits: { cpus: 1 } } } } },
    /\/sandbox\/profiles\/python\/limits/,
  ],
  [
    'memory without a unit',
    { ...EVAL, sandbox: { profiles: { python: { outbox: '256' } } } },
    /\/sandbox\/profiles\/python\/outbox/,
  ],
  [
    'libraries that nobody knows',
    { ...EVAL, sandbox: { profiles: { python: { preload: 'all' } } } },
    /\/sandbox\/profiles\/python\/preload/,
  ],
  [
    'a profile with half of its values',
    { ...EVAL, sandbox: { profiles: { shell: { min: 1 } } } },
    /\/sandbox\/profiles\/shell/,
  ],
  ['a way of installing that is not there', { ...EVAL, seccomp: { install: 'apparmor' } }, /\/seccomp\/install/],
  [
    'an address without a scheme',
    { ...PRODUCTION, s3: { ...PRODUCTION.s3, endpoint: 's3.example' } },
    /\/s3\/endpoint/,
  ],
  [
    'a public address with a path',
    { ...EVAL, gateway: { publicUrl: 'https://a.example/moli' } },
    /\/gateway\/publicUrl/,
  ],
  ['a certificate that is none', { ...EVAL, executor: { tls: { ca: 'ca.pem' } } }, /\/executor\/tls\/ca/],
  ['an image tag with a name in it', { ...EVAL, image: { tag: 'moli:1' } }, /\/image\/tag/],
  ['nothing at all', {}, /postgres\.url: [\s\S]*redis\.url: [\s\S]*s3\.endpoint: /],
  [
    'a Secret of Postgres without a server',
    { ...PRODUCTION, postgres: { existingSecret: 'pg' } },
    /postgres\.server: /,
  ],
  [
    'an S3 key without its secret',
    { ...PRODUCTION, s3: { ...PRODUCTION.s3, existingSecret: '', accessKey: 'a' } },
    /s3\.accessKey: /,
  ],
  ['an S3 authority that couriers do not get', { ...PRODUCTION, s3: { ...PRODUCTION.s3, ca: '' } }, /s3\.ca: /],
  ['an S3 name that no policy knows', { ...PRODUCTION, networkPolicy: {} }, /networkPolicy\.s3\.to: /],
  [
    'a trial beside servers of one’s own',
    { ...PRODUCTION, ...EVAL },
    /eval\.enabled: [\s\S]*secrets\.existingSecret: /,
  ],
  [
    'a certificate without its authority',
    { ...EVAL, executor: { tls: { existingSecret: 'x' } } },
    /executor\.tls\.ca: /,
  ],
  [
    'cert-manager without an issuer',
    { ...EVAL, executor: { tls: { ca: '-----BEGIN CERTIFICATE-----\n', certManager: { enabled: true } } } },
    /executor\.tls\.certManager\.issuerRef: /,
  ],
  ['an Ingress without a host', { ...EVAL, gateway: { ingress: { enabled: true } } }, /gateway\.ingress\.host: /],
  ['a route without a Gateway', { ...EVAL, gateway: { route: { enabled: true } } }, /gateway\.route\.parentRefs: /],
  ['a model without a name', { ...EVAL, model: { baseUrl: 'https://m.example/v1' } }, /model\.name: /],
  [
    'a floor over its ceiling',
    { ...EVAL, sandbox: { profiles: { python: { min: 11 } } } },
    /sandbox\.profiles\.python\.min: /,
  ],
  ['sandboxes beside the services', { ...EVAL, sandbox: { namespace: 'bank' } }, /sandbox\.namespace: /],
  [
    'a profile that the operator writes elsewhere',
    { ...EVAL, seccomp: { install: 'spo' } },
    /seccomp\.localhostProfile: .*operator\/bank-sandbox/,
  ],
];

describe.skipIf(!HELM)('the chart refuses', () => {
  it.each(REFUSED)('%s, by the name of the value', (_, values, message) => {
    expect(() => template(values)).toThrow(message);
  });

  it('a Kubernetes that is too old', () => {
    expect(() => template(EVAL, { kubeVersion: '1.33.9' })).toThrow(/kubeVersion: >=1\.34\.0-0.*v1\.33\.9/);
  });
});
