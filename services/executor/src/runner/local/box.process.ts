import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { log } from '@moli/telemetry';
import { z } from 'zod';

export interface BoxOptions {
  /** Folder with `box.py`. */
  readonly sandboxDir: string;
  /** Interpreter of the environment with the packages. */
  readonly python: string;
  /** Folder of the socket; made with mode 0700. */
  readonly stateDir: string;
  readonly slots: number;
  /** Refuse to run with weaker isolation than this; unset means what box.py takes by itself. */
  readonly minStrength?: string;
}

/** What `box.py` prints on one line when its first slots are ready. */
const BoxReady = z.object({
  ready: z.literal(true),
  strength: z.string(),
  python: z.string().optional(),
  packages: z.record(z.string(), z.string()).optional(),
  slots: z.number().optional(),
});
export type BoxReady = z.infer<typeof BoxReady>;

/** Waits before starts after failures, in milliseconds; the last one repeats. */
const BACK_OFF_MS = [100, 300, 1_000, 2_000, 5_000];
/** A box that lived this long was healthy: its end starts the back-off anew. */
const HEALTHY_MS = 30_000;
const STOP_GRACE_MS = 3_000;

/**
 * Keeps one `box.py` running: starts it, waits for its ready line, starts it again with back-off when it ends. Closing our end of its standard
 * input ends it, so a killed executor leaves no box behind.
 */
export class BoxProcess {
  readonly socketPath: string;
  readonly #options: BoxOptions;
  #child: ChildProcess | null = null;
  #ready: BoxReady | null = null;
  #reason = 'starting';
  #failures = 0;
  #stopping = false;
  #timer: NodeJS.Timeout | null = null;
  #waiting = new Set<() => void>();
  #onChange: () => void = () => {};

  constructor(options: BoxOptions) {
    this.#options = options;
    this.socketPath = join(options.stateDir, 'zygote.sock');
  }

  get ready(): BoxReady | null {
    return this.#ready;
  }

  /** Why it is not ready: the last line it wrote, for an operator. */
  get reason(): string {
    return this.#reason;
  }

  /** Called when it became ready or is not any more. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  start(): void {
    void this.#launch();
  }

  /** Resolves when the box is ready, false when the time or the signal came first. */
  async whenReady(timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.#ready) return true;
    if (timeoutMs <= 0 || signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    signal.addEventListener('abort', () => resolve(), { once: true });
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
    return this.#ready !== null;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#timer) clearTimeout(this.#timer);
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.stdin?.end();
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
    await gone;
    clearTimeout(timer);
  }

  async #launch(): Promise<void> {
    const { sandboxDir, python, stateDir, slots, minStrength } = this.#options;
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    if (this.#stopping) return;
    const args = ['--python', python, '--state', stateDir, '--slots', String(slots)];
    if (minStrength) args.push('--min-strength', minStrength);
    const startedAt = Date.now();
    // As a program of its own, not as an argument of Python: an AppArmor profile (sandbox/apparmor) is for the file that is started.
    const child = spawn(join(sandboxDir, 'box.py'), args, {
      // Nothing of our environment goes in: it holds addresses and passwords.
      env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LANG: 'C.UTF-8' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdin.on('error', () => {});
    child.on('error', (error) => this.#ended(error.message, startedAt));
    createInterface({ input: child.stdout }).on('line', (line) => this.#heard(line));
    createInterface({ input: child.stderr }).on('line', (line) => this.#said(line));
    child.on('exit', (code, signal) => this.#ended(`ended with ${code ?? signal}`, startedAt));
  }

  #heard(line: string): void {
    const ready = BoxReady.safeParse(parse(line));
    if (!ready.success) return;
    this.#ready = ready.data;
    log.info('sandbox ready', { strength: ready.data.strength, slots: this.#options.slots });
    for (const wake of this.#waiting) wake();
    this.#onChange();
  }

  /** Its log lines are JSON; anything else is a traceback of its own. Never output of a run. */
  #said(line: string): void {
    const { level, msg, time: _, ...fields } = (parse(line) ?? {}) as Record<string, unknown>;
    if (typeof msg !== 'string') {
      this.#reason = line.slice(0, 500);
      log.warn('sandbox', { line: line.slice(0, 500) });
      return;
    }
    if (level === 'warn' || level === 'error') this.#reason = line.slice(0, 500);
    const write = level === 'error' || level === 'warn' || level === 'info' ? log[level] : log.debug;
    write(`sandbox: ${msg.slice(0, 100)}`, fields);
  }

  #ended(how: string, startedAt: number): void {
    if (this.#stopping || this.#timer) return;
    if (!this.#ready && this.#reason !== 'starting') this.#reason = `${this.#reason} (${how})`.slice(0, 600);
    else this.#reason = how;
    this.#ready = null;
    this.#onChange();
    if (Date.now() - startedAt > HEALTHY_MS) this.#failures = 0;
    const wait = BACK_OFF_MS[Math.min(this.#failures++, BACK_OFF_MS.length - 1)]!;
    log.warn('sandbox box ended, starting it again', { how, waitMs: wait });
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#launch();
    }, wait);
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
