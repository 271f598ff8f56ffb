import type { Values } from './helm.fixture.ts';

export const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

export const EVAL: Values = { eval: { enabled: true } };

/** As a bank would: everything by reference, all names its own. */
export const PRODUCTION = {
  image: { registry: 'registry.bank.example/moli-mirror', tag: '1.2.3', pullSecrets: ['mirror'] },
  postgres: {
    existingSecret: 'pg',
    key: 'owner-url',
    server: 'pg.bank.example:6432/moli?sslmode=verify-full',
    caSecret: 'pg-ca',
  },
  redis: { existingSecret: 'redis' },
  s3: {
    endpoint: 'https://s3.bank.example',
    bucket: 'moli-prod',
    existingSecret: 's3',
    encryption: 'aws:kms',
    caSecret: 's3-ca',
    ca: PEM,
  },
  secrets: { existingSecret: 'moli-root' },
  admin: { existingSecret: 'moli-admin' },
  gateway: {
    publicUrl: 'https://moli.bank.example',
    trustedProxies: ['10.1.0.0/16'],
    ingress: { enabled: true, className: 'nginx', host: 'moli.bank.example', tlsSecret: 'moli-tls' },
  },
  networkPolicy: {
    s3: { to: [{ ipBlock: { cidr: '10.9.0.0/24' } }] },
    apiServer: { to: [{ ipBlock: { cidr: '10.2.0.10/32' } }], ports: [6443] },
    gateway: { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }] },
    metrics: { from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }] },
  },
} as const;

interface Case {
  readonly values: Values;
  /** Kind and name of what the values change; all of it when left out. */
  readonly shows?: readonly string[];
}

const SANDBOX = 'Deployment/moli-sandbox-python';
const GATEWAY = 'Deployment/moli-gateway';
const EXECUTOR = 'Deployment/moli-executor';

/** One snapshot each, named by its key. */
export const CASES: Readonly<Record<string, Case>> = {
  eval: { values: EVAL },
  production: { values: PRODUCTION },
  'values-in-clear': {
    values: {
      postgres: { url: 'postgres://owner:p%40ss@10.0.0.5/moli?sslmode=require' },
      redis: { url: 'rediss://:secret@redis.example:6380' },
      s3: { endpoint: 'http://10.0.0.7:9000', accessKey: 'a', secretKey: 'b' },
      model: { baseUrl: 'https://models.example/v1', name: 'm', apiKey: 'k' },
    },
    shows: [
      'Secret/moli-connections',
      GATEWAY,
      EXECUTOR,
      'NetworkPolicy/moli-sandbox-courier',
      'NetworkPolicy/moli-executor',
    ],
  },
  'gateway-api': {
    values: {
      ...EVAL,
      gateway: { route: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['moli.example'] } },
    },
    shows: ['HTTPRoute/moli-gateway'],
  },
  'cert-manager': {
    values: {
      ...EVAL,
      executor: {
        tls: { ca: PEM, certManager: { enabled: true, issuerRef: { kind: 'ClusterIssuer', name: 'bank' } } },
      },
    },
    shows: ['Certificate/moli-executor-tls', 'ConfigMap/moli-sandbox-trust'],
  },
  'own-certificate': {
    values: { ...EVAL, executor: { tls: { existingSecret: 'from-vault', ca: PEM } }, trustedCaSecret: 'bank-ca' },
    shows: [EXECUTOR, 'ConfigMap/moli-sandbox-trust'],
  },
  'sealed-nodes': {
    values: {
      ...EVAL,
      sandbox: {
        runtimeClassName: 'gvisor',
        hostUsers: false,
        appArmorProfile: 'moli-sandbox',
        seLinuxType: 'container_engine_t',
        nodeSelector: { pool: 'sandboxes' },
        tolerations: [{ key: 'sandboxes', operator: 'Exists' }],
        priorityClassName: 'batch',
        forbiddenTargets: ['ldap.example:636'],
      },
    },
    shows: [SANDBOX, 'ValidatingAdmissionPolicy/bank-moli-sandbox'],
  },
  'profiles-operator': {
    values: { ...EVAL, seccomp: { install: 'spo', localhostProfile: 'operator/bank-sandbox/moli-sandbox.json' } },
    shows: ['SeccompProfile/moli-sandbox', SANDBOX],
  },
  'by-other-means': {
    values: {
      ...EVAL,
      seccomp: { install: 'none' },
      networkPolicy: { enabled: false },
      sandbox: { createNamespace: false, namespace: 'sealed', allowExec: true, allowWeakerIsolation: true },
    },
    shows: [SANDBOX, EXECUTOR, 'Role/moli-executor', 'ValidatingAdmissionPolicyBinding/bank-moli-sandbox'],
  },
  monitoring: {
    values: {
      ...EVAL,
      metrics: {
        serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
        rules: { enabled: true },
        dashboards: { enabled: true },
      },
      otel: { endpoint: 'http://collector.observe.svc:4318' },
    },
    shows: ['ServiceMonitor/moli', 'PrometheusRule/moli', 'ConfigMap/moli-dashboards', EXECUTOR],
  },
  autoscaling: {
    values: {
      ...EVAL,
      gateway: { replicas: 1, autoscaling: { enabled: true, max: 6 } },
      executor: { replicas: 1 },
    },
    shows: ['HorizontalPodAutoscaler/moli-gateway', GATEWAY, 'PodDisruptionBudget/moli-gateway'],
  },
  quotas: {
    values: {
      ...EVAL,
      sandbox: {
        profiles: {
          shell: {
            min: 0,
            max: 2,
            limits: { cpu: 2, memory: '2Gi', ephemeralStorage: '1Gi' },
            requests: { cpu: '100m', memory: '128Mi' },
            outbox: '64Mi',
          },
        },
        quota: { 'limits.memory': '64Gi' },
        limitRange: [{ type: 'Container', max: { memory: '4Gi' } }],
      },
    },
    shows: [
      'ResourceQuota/moli-sandbox',
      'LimitRange/moli-sandbox',
      'Deployment/moli-sandbox-shell',
      'Role/moli-executor',
    ],
  },
  'air-gap': {
    values: {
      image: { registry: 'mirror.local:5000/moli', pullSecrets: ['mirror'] },
      eval: { enabled: true, persistence: { enabled: true, storageClassName: 'fast' } },
    },
    shows: ['StatefulSet/moli-postgres', 'StatefulSet/moli-redis', 'StatefulSet/moli-s3', 'DaemonSet/moli-seccomp'],
  },
};
