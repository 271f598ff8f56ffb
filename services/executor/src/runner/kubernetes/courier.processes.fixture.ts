import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@moli/processes';
import { rolldown } from 'rolldown';
import courierBundle from '../../../rolldown.courier.config.ts';
import { BoxProcess } from '../local/box.process.ts';
import { AttachRefusal } from './attach.refusal.ts';
import type { PodRef } from './pod.checks.ts';
import type { AttachAttempt } from './pod.gate.ts';

export interface CourierProcessesOptions {
  readonly folder: string;
  readonly sandboxDir: string;
  readonly python: string;
  readonly count: number;
  /** Environment of the couriers beside what they cannot do without. */
  readonly env?: Readonly<Record<string, string>>;
}

interface Running {
  readonly process: ChildProcess;
  readonly pod: PodRef;
}

/**
 * Sandbox Pods of this machine: real couriers from the real bundle, with one real sandbox box for all of them. Stands for the kubelet, the
 * ReplicaSet and the API server: a Pod that is removed is killed, and another one starts.
 */
export class CourierProcesses {
  readonly #options: CourierProcessesOptions;
  readonly #box: BoxProcess;
  readonly #pods = new Map<string, Running>();
  readonly #token = randomUUID();
  #bundle = '';
  #address = '';
  #closed = false;
  /** What the couriers wrote, for a test that looks for secrets or reasons. */
  log = '';
  removed = 0;
  /** What the status of a Pod says of a sandbox that was lost. */
  endedForMemory = false;
  growing = true;
  onGone: (podUid: string) => void = () => {};

  constructor(options: CourierProcessesOptions) {
    this.#options = options;
    const { sandboxDir, python, folder, count } = options;
    this.#box = new BoxProcess({ sandboxDir, python, stateDir: join(folder, 'box'), slots: count });
  }

  /** A certificate for localhost, made by openssl. */
  certificate(): { cert: string; key: string } {
    const [cert, key] = [join(this.#options.folder, 'cert.pem'), join(this.#options.folder, 'key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const how = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', [...how, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { cert, key };
  }

  /** Starts the box and the couriers, which dial `address`. */
  async prepare(address: string): Promise<void> {
    const { folder } = this.#options;
    this.#address = address;
    writeFileSync(join(folder, 'token'), this.#token);
    this.#bundle = join(folder, 'courier.cjs');
    const { output, ...input } = courierBundle as { output: object };
    await (await rolldown({ ...input, cwd: join(import.meta.dirname, '../../..'), logLevel: 'silent' })).write({
      ...output,
      file: this.#bundle,
    });
    await this.#box.start();
    await this.#box.whenReady(60_000, new AbortController().signal);
    const strength = this.#box.ready?.strength;
    writeFileSync(join(folder, 'box', 'ready.json'), JSON.stringify({ ready: true, strength }));
  }

  start(): void {
    for (let i = 0; i < this.#options.count; i++) void this.#startOne();
  }

  async admit({ token, hello }: AttachAttempt): Promise<PodRef> {
    if (token !== this.#token) throw new AttachRefusal('token_rejected', 'its token was rejected');
    const running = this.#pods.get(hello.podUid);
    if (!running) throw new AttachRefusal('pod_missing', 'there is no such Pod');
    return running.pod;
  }

  remove(pod: { uid: string }): void {
    const running = this.#pods.get(pod.uid);
    if (!running) return;
    this.removed++;
    this.#pods.delete(pod.uid);
    running.process.kill('SIGKILL');
    this.onGone(pod.uid);
    if (!this.#closed) void this.#startOne();
  }

  attached(): void {}

  removeLimited(pod: PodRef): boolean {
    this.remove(pod);
    return true;
  }

  witness(): () => Promise<boolean> {
    return async () => this.endedForMemory;
  }

  shortage(): string | null {
    return null;
  }

  get processes(): ChildProcess[] {
    return [...this.#pods.values()].map(({ process }) => process);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const gone = this.processes.map(async (process) => {
      if (process.exitCode !== null || process.signalCode !== null) return;
      process.kill('SIGKILL');
      await once(process, 'exit');
    });
    await Promise.all(gone);
    this.#pods.clear();
    await this.#box.stop();
  }

  async #startOne(): Promise<void> {
    const { folder, env } = this.#options;
    const uid = randomUUID();
    // Neighbours look for it where there is nothing: on one machine they would reach each other.
    const pod = { name: `moli-sandbox-python-${uid.slice(0, 5)}`, uid, profile: 'python', ip: '192.0.2.2' };
    const outbox = join(folder, uid);
    mkdirSync(outbox, { mode: 0o700 });
    const canaryPort = await freePort();
    if (this.#closed) return;
    const child = spawn(process.execPath, [this.#bundle], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        MOLI_EXECUTOR_ADDRESS: this.#address,
        MOLI_EXECUTOR_CA: join(folder, 'cert.pem'),
        MOLI_TOKEN_FILE: join(folder, 'token'),
        MOLI_SANDBOX_SOCKET: this.#box.socketPath,
        MOLI_OUTBOX_DIR: outbox,
        MOLI_POD_NAME: pod.name,
        MOLI_POD_UID: uid,
        MOLI_POD_IP: '127.0.0.1',
        MOLI_CANARY_PORT: String(canaryPort),
        // Nothing answers in this block (RFC 5737).
        MOLI_OUTSIDE_TARGETS: '192.0.2.1:443',
        ...env,
      },
    });
    child.stderr?.on('data', (chunk) => {
      this.log += chunk;
    });
    this.#pods.set(uid, { process: child, pod });
  }
}
