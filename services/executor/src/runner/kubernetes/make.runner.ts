import { KubeConfig } from '@kubernetes/client-node';
import { serverCredentials } from '@moli/rpc';
import type { Redis } from 'ioredis';
import type { ExecutorConfig } from '../../config.ts';
import { ClusterApi } from './cluster.api.ts';
import { CourierLedger } from './courier.ledger.ts';
import { CourierPool } from './courier.pool.ts';
import { addressesOf } from './forbidden.addresses.ts';
import { KubernetesRunner } from './kubernetes.runner.ts';
import { SandboxPods } from './sandbox.pods.ts';

/** What a sandbox has to prove where the configuration says nothing. */
const FULL_STRENGTH = 'userns+landlock+seccomp';

/** The runner of an executor in a cluster. In a Pod the configuration of the API is that of its service account, else that of KUBECONFIG. */
export function kubernetesRunner(config: ExecutorConfig, redis: Redis, executorId: string): KubernetesRunner {
  const kube = new KubeConfig();
  kube.loadFromDefault();
  const api = new ClusterApi(kube, config.sandboxNamespace!);
  const ledger = new CourierLedger(redis, executorId);
  const pool = new CourierPool();
  const profiles = config.sandboxProfiles;
  const identity = {
    namespace: api.namespace,
    serviceAccount: config.sandboxServiceAccount,
    profiles: new Set(Object.keys(profiles)),
  };
  return new KubernetesRunner({
    host: config.executorHost,
    port: config.courierPort,
    credentials: serverCredentials({ cert: config.courierTlsCert!, key: config.courierTlsKey! }),
    minStrength: config.sandboxMinStrength ?? FULL_STRENGTH,
    forbidden: () => addressesOf(config.redisUrl),
    ledger,
    pool,
    pods: (onGone) => new SandboxPods({ api, redis, ledger, pool, identity, profiles, onGone }),
  });
}
