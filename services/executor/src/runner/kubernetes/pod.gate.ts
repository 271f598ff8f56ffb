import type { Hello } from '@moli/rpc';
import { AttachRefusal } from './attach.refusal.ts';
import type { ClusterApi } from './cluster.api.ts';
import { boundPod, checkPod, type PodRef, type SandboxIdentity } from './pod.checks.ts';

/** Somebody who says to be the courier of a Pod. */
export interface AttachAttempt {
  /** The bearer token, or empty. */
  readonly token: string;
  /** The address that the connection comes from. */
  readonly address: string;
  readonly hello: Hello;
}

/** Decides who is the courier of a sandbox Pod, by what the API server says alone. */
export class PodGate {
  readonly #api: ClusterApi;
  readonly #identity: SandboxIdentity;

  constructor(api: ClusterApi, identity: SandboxIdentity) {
    this.#api = api;
    this.#identity = identity;
  }

  /** The Pod that dials. Throws AttachRefusal. */
  async admit({ token, address, hello }: AttachAttempt): Promise<PodRef> {
    if (!token) throw new AttachRefusal('token_missing', 'it shows no token');
    const review = await this.#asked(this.#api.review(token));
    const bound = boundPod(review, this.#identity);
    const pod = await this.#asked(this.#api.pod(bound.name));
    if (!pod || pod.metadata?.uid !== bound.uid) {
      throw new AttachRefusal('pod_missing', `the Pod ${bound.name} that its token is bound to is gone`);
    }
    return checkPod(pod, hello, address, this.#identity);
  }

  /** Without an answer nobody is let in. */
  async #asked<T>(request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      throw new AttachRefusal(
        'api_unavailable',
        `the API server cannot be asked: ${(error as Error).message.slice(0, 200)}`,
      );
    }
  }
}
