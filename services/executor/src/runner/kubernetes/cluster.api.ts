import {
  ApiException,
  AppsV1Api,
  AuthenticationV1Api,
  type ConfigurationOptions,
  CoreV1Api,
  type KubeConfig,
  makeInformer,
  Observable,
  PatchStrategy,
  setHeaderOptions,
  type V1Deployment,
  type V1Pod,
  type V1PodList,
  type V1TokenReviewStatus,
} from '@kubernetes/client-node';
import { metrics } from '../../metrics.ts';
import { TOKEN_AUDIENCE } from './pod.checks.ts';

/** A request that takes longer counts as failed: the API server is overloaded or gone. */
const TIMEOUT_MS = 5_000;

type Writing = 'review' | 'delete' | 'scale';

/**
 * What this executor may do with the Kubernetes API, and nothing else: its RBAC is these calls. In the sandbox namespace read and delete Pods,
 * read pools and set their size; beyond it only ask whose a token is.
 */
export class ClusterApi {
  readonly namespace: string;
  readonly #config: KubeConfig;
  readonly #core: CoreV1Api;
  readonly #apps: AppsV1Api;
  readonly #authentication: AuthenticationV1Api;

  constructor(config: KubeConfig, namespace: string) {
    this.namespace = namespace;
    this.#config = config;
    this.#core = config.makeApiClient(CoreV1Api);
    this.#apps = config.makeApiClient(AppsV1Api);
    this.#authentication = config.makeApiClient(AuthenticationV1Api);
  }

  /** Whose a token is. */
  async review(token: string): Promise<V1TokenReviewStatus> {
    this.#count('review');
    const body = { spec: { token, audiences: [TOKEN_AUDIENCE] } };
    const { status } = await this.#authentication.createTokenReview({ body }, timed());
    return status ?? { authenticated: false };
  }

  /** The Pod as it is now, or null. */
  async pod(name: string): Promise<V1Pod | null> {
    return this.#core.readNamespacedPod({ name, namespace: this.namespace }, timed()).catch(nullIfGone);
  }

  pods(): Promise<V1PodList> {
    return this.#core.listNamespacedPod({ namespace: this.namespace }, timed());
  }

  /** Follows all Pods of the namespace; `pods` first, then every change. */
  watchPods(): ReturnType<typeof makeInformer<V1Pod>> {
    return makeInformer<V1Pod>(this.#config, `/api/v1/namespaces/${this.namespace}/pods`, () => this.pods());
  }

  /** Deletes exactly this Pod at once. That it is gone, or another one has its name, is success. */
  async deletePod(pod: { name: string; uid: string }): Promise<void> {
    this.#count('delete');
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.uid } };
    await this.#core
      .deleteNamespacedPod({ name: pod.name, namespace: this.namespace, gracePeriodSeconds: 0, body }, timed())
      .catch((error: unknown) => {
        if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
      });
  }

  async deployment(name: string): Promise<V1Deployment | null> {
    return this.#apps.readNamespacedDeployment({ name, namespace: this.namespace }, timed()).catch(nullIfGone);
  }

  async scale(name: string, replicas: number): Promise<void> {
    this.#count('scale');
    await this.#apps.patchNamespacedDeploymentScale(
      { name, namespace: this.namespace, body: { spec: { replicas } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch, timed()),
    );
  }

  #count(call: Writing): void {
    metrics.apiWrites.inc({ call });
  }
}

/** Each request gives up by itself. */
function timed(): ConfigurationOptions {
  return {
    middlewareMergeStrategy: 'append',
    middleware: [
      {
        pre: (context) => {
          context.setSignal(AbortSignal.timeout(TIMEOUT_MS));
          return new Observable(Promise.resolve(context));
        },
        post: (context) => new Observable(Promise.resolve(context)),
      },
    ],
  };
}

/** HTTP status of a failed request, or null when there was no answer. */
export function statusOf(error: unknown): number | null {
  if (error instanceof ApiException) return error.code;
  const { statusCode, code } = error as { statusCode?: unknown; code?: unknown };
  return [statusCode, code].find((one): one is number => typeof one === 'number') ?? null;
}

function nullIfGone(error: unknown): null {
  if (statusOf(error) === 404) return null;
  throw error;
}
