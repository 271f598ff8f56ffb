import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Answer, ask, bodyOf, networkReason } from './api.ts';
import { SelftestFailure } from './failure.ts';

/** Links are signed for a minute and more; clocks that differ by less than half of it do no harm. */
const MAX_SKEW_MS = 30_000;
/** A pool that is empty fills in seconds; a node that pulls an image takes longer. */
const SANDBOX_WAIT_MS = 90_000;
const POLL_MS = 1_000;

/** What is read of `/readyz` of each service: of dependencies by whatever name, also those of another version. */
const GatewayReady = z.object({
  dependencies: z.record(z.string(), z.object({ ok: z.boolean(), detail: z.string().optional() })),
});
const ExecutorReady = z.object({
  redis: z.object({ ready: z.boolean() }),
  sandbox: z.object({ ready: z.boolean(), reason: z.string().optional() }),
});

/** What to do about a dependency that the gateway names. */
const ADVICE: Readonly<Record<string, { zh: string; en: string }>> = {
  postgres: {
    zh: '请检查 postgres 的地址、密码，以及网络策略是否允许网关访问它。',
    en: 'Check the address and the password of postgres, and that a network policy lets the gateway reach it.',
  },
  redis: {
    zh: '请检查 redis 的地址、密码，以及网络策略是否允许网关访问它。',
    en: 'Check the address and the password of redis, and that a network policy lets the gateway reach it.',
  },
  objects: {
    zh: '请检查 s3.endpoint、s3.bucket、密钥的权限、证书（s3.caSecret），以及网关所在节点的时钟。',
    en: 'Check s3.endpoint, s3.bucket, the rights of the key, the certificate (s3.caSecret) and the clock of the node.',
  },
  schema: {
    zh: '数据库还没有迁移：请查看 migrate 任务的日志。',
    en: 'The database is not migrated: look at the log of the migrate Job.',
  },
};

async function reach(url: string, what: { zh: string; en: string }): Promise<Answer> {
  try {
    return await ask(url);
  } catch (error) {
    const reason = networkReason(error);
    throw new SelftestFailure({
      zh: `无法连接${what.zh} ${url}（${reason}）。请查看其 Pod 状态和网络策略。`,
      en: `${what.en} at ${url} cannot be reached (${reason}). Look at its Pods and at the network policies.`,
    });
  }
}

/** The gateway answers and has all that it depends on. Returns the time of its clock. */
export async function gatewayIsReady(gateway: string): Promise<Date> {
  const answer = await reach(`${gateway}/readyz`, { zh: '网关', en: 'The gateway' });
  const missing = Object.entries(bodyOf(answer, GatewayReady)?.dependencies ?? {}).filter(([, { ok }]) => !ok);
  if (answer.status !== 200) {
    const parts = (locale: 'zh' | 'en') =>
      missing.map(([name, { detail }]) => `${name}: ${detail ?? '–'}. ${ADVICE[name]?.[locale] ?? ''}`).join(' ');
    throw new SelftestFailure({
      zh: `网关未就绪。${parts('zh') || `HTTP ${answer.status}`}`,
      en: `The gateway is not ready. ${parts('en') || `HTTP ${answer.status}`}`,
    });
  }
  return new Date(answer.headers.get('date') ?? Number.NaN);
}

/** Asks without credentials, with the certificates that the store is configured with; answers status and clock. */
function knock(url: string, ca: string | undefined): Promise<{ status: number; date: Date }> {
  const { protocol } = new URL(url);
  const options = { timeout: 10_000, ...(ca ? { ca } : {}) };
  return new Promise((resolve, reject) => {
    const request = (protocol === 'https:' ? requestHttps : requestHttp)(url, options, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, date: new Date(response.headers.date ?? Number.NaN) });
    });
    request.on('timeout', () => request.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    request.on('error', reject);
    request.end();
  });
}

export interface Objects {
  readonly url: string;
  /** S3 bucket. */
  readonly bucket: string;
  /** PEM. */
  readonly ca?: string;
}

/** The object store answers, refuses strangers, and its clock agrees with ours: links are signed by one clock and checked by another. */
export async function objectsAreClosed({ url, bucket, ca }: Objects, now = Date.now()): Promise<void> {
  const answer = await knock(`${url}/${bucket}`, ca).catch((error: { code?: string; message: string }) => {
    const reason = error.code ?? error.message;
    throw new SelftestFailure({
      zh: `无法连接对象存储 ${url}（${reason}）。请检查 s3.endpoint、证书和 networkPolicy.s3。`,
      en: `The object store at ${url} cannot be reached (${reason}). Check s3.endpoint, the certificate and networkPolicy.s3.`,
    });
  });
  if (answer.status < 400) {
    throw new SelftestFailure({
      zh: `对象存储的 ${bucket} 不带凭据也能读取（HTTP ${answer.status}）。请关闭该存储桶的匿名访问。`,
      en: `Anybody can read the bucket ${bucket} of the object store (HTTP ${answer.status}). Turn anonymous access to it off.`,
    });
  }
  clocksAgree(answer.date, { zh: '对象存储', en: 'the object store' }, now);
}

/** Throws when a server's clock differs from ours by more than signed links bear. A server without a Date header says nothing. */
export function clocksAgree(theirs: Date, whose: { zh: string; en: string }, now = Date.now()): void {
  const skewMs = theirs.getTime() - now;
  if (Number.isNaN(skewMs) || Math.abs(skewMs) <= MAX_SKEW_MS) return;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  throw new SelftestFailure({
    zh: `${whose.zh}的时钟与本节点相差 ${seconds} 秒，签名链接会失效。请在所有节点和对象存储上启用时间同步（NTP）。`,
    en: `The clock of ${whose.en} and that of this node are ${seconds} s apart; signed links would not be valid. Turn on NTP on every node and on the object store.`,
  });
}

/** Waits for an executor with a sandbox. Otherwise throws the executor's own reason. */
export async function sandboxIsReady(executor: string, waitMs = SANDBOX_WAIT_MS): Promise<void> {
  const end = Date.now() + waitMs;
  for (;;) {
    const answer = await reach(`${executor}/readyz`, { zh: '执行器', en: 'The executor' });
    if (answer.status === 200) return;
    if (Date.now() >= end) {
      const state = bodyOf(answer, ExecutorReady);
      const reason = state?.redis.ready === false ? 'redis' : (state?.sandbox.reason ?? answer.text.slice(0, 500));
      throw new SelftestFailure({
        zh: `没有可用的沙箱。执行器给出的原因：${reason}。请查看沙箱命名空间中 Pod 的事件（kubectl describe）和执行器的日志。`,
        en: `No sandbox is ready. The executor says: ${reason}. Look at the events of the Pods in the sandbox namespace (kubectl describe) and at the executor's log.`,
      });
    }
    await sleep(POLL_MS);
  }
}
