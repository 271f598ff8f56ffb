import { defineStore } from 'pinia';
import type { Upload as TusUpload } from 'tus-js-client';
import { reactive, ref } from 'vue';
import { useAccount } from '../account/account.store.ts';
import { parseProblem, problemOf } from '../api/client.ts';
import { getFile } from '../api/routes.ts';
import { traceparent } from '../api/trace.ts';
import type { StoredFile } from '../api/types.ts';
import { formatBytes, formatNumber } from '../i18n/format.ts';
import { locale, t } from '../i18n/i18n.ts';
import { useSessionFiles } from '../inspector/session-files.ts';
import { acceptedKinds, checkContent, checkUpload, type UploadRefusal } from './upload-check.ts';

export type UploadState = 'waiting' | 'sending' | 'paused' | 'retrying' | 'detecting' | 'done' | 'refused';

export interface Upload {
  readonly key: number;
  readonly name: string;
  readonly bytes: number;
  state: UploadState;
  sent: number;
  /** Bytes a second over the last seconds. */
  speed: number;
  /** Why it was refused, as a sentence. */
  reason: string;
  file: StoredFile | null;
}

/** Waiting times after a broken connection, in milliseconds. The last one repeats for about ten minutes. */
const retryDelays = [0, 1000, 2000, 4000, 8000, ...Array.from({ length: 40 }, () => 15_000)];
/** Share of a new measurement in the shown speed. */
const smoothing = 0.3;

/** Files on their way into a chat, kept by chat so that switching loses nothing. The key of a chat that is not there yet is "new". */
export const useUploads = defineStore('uploads', () => {
  const byChat = ref<Record<string, Upload[]>>({});
  const senders = new Map<number, { tus: TusUpload; time: number; sent: number }>();
  let nextKey = 1;

  function list(chat: string): Upload[] {
    byChat.value[chat] ??= [];
    return byChat.value[chat];
  }

  /** Takes files in: refused ones stay as a note, the others are sent at once. `sessionOf` makes the session when the first file needs it. */
  async function add(chat: string, files: readonly File[], sessionOf: () => Promise<string>): Promise<void> {
    const limits = useAccount().settings?.upload;
    const accepted: { upload: Upload; source: File }[] = [];
    for (const source of files) {
      const upload = reactive<Upload>({
        key: nextKey++,
        name: source.name,
        bytes: source.size,
        state: 'waiting',
        sent: 0,
        speed: 0,
        reason: '',
        file: null,
      });
      let refusal = limits ? checkUpload(source, limits) : null;
      refusal ??= checkContent(source.name, new Uint8Array(await source.slice(0, 16).arrayBuffer()));
      list(chat).push(upload);
      if (refusal) refuse(upload, sentence(refusal));
      else accepted.push({ upload, source });
    }
    if (accepted.length === 0) return;
    try {
      const sessionId = await sessionOf();
      await Promise.all(accepted.map(({ upload, source }) => send(upload, source, sessionId)));
    } catch (error) {
      for (const { upload } of accepted) if (upload.state === 'waiting') refuse(upload, problemOf(error).detail);
    }
  }

  function sentence(refusal: UploadRefusal): string {
    const limits = useAccount().settings?.upload;
    const kinds = limits ? acceptedKinds(limits, locale.value, t('upload.pictures')) : '';
    switch (refusal.reason) {
      case 'type':
        return t('upload.refusedType', { extension: refusal.extension || t('upload.noExtension'), kinds });
      case 'size':
        return t('upload.refusedSize', sizes(refusal.bytes, limits?.maxBytes ?? 0));
      case 'empty':
        return t('upload.refusedEmpty');
      case 'name':
        return t('upload.refusedName');
      case 'content':
        return t('upload.refusedContent', { found: refusal.found, kinds });
    }
  }

  /** Two sizes that differ; rounded alike they would read as "50 MB is over 50 MB". */
  function sizes(bytes: number, maxBytes: number): { size: string; limit: string } {
    const rounded = { size: formatBytes(bytes), limit: formatBytes(maxBytes) };
    if (rounded.size !== rounded.limit) return rounded;
    return { size: `${formatNumber(bytes)} B`, limit: `${formatNumber(maxBytes)} B` };
  }

  function refuse(upload: Upload, reason: string): void {
    upload.state = 'refused';
    upload.reason = reason;
  }

  async function send(upload: Upload, source: File, sessionId: string): Promise<void> {
    const { Upload: Tus } = await import('tus-js-client');
    const tus = new Tus(source, {
      endpoint: '/api/upload',
      metadata: { filename: source.name, sessionId },
      headers: { 'accept-language': locale.value, traceparent: traceparent(sessionId) },
      retryDelays,
      removeFingerprintOnSuccess: true,
      storeFingerprintForResuming: true,
      onProgress: (sent) => progressed(upload, sent),
      onSuccess: ({ lastResponse }) => void finished(upload, lastResponse.getHeader('Moli-File-Id')),
      onShouldRetry(error) {
        const status = error.originalResponse?.getStatus() ?? 0;
        // 409: another writer still holds the upload; 423: it is locked. Everything else in the 400s is final.
        const again = status === 0 || status >= 500 || status === 409 || status === 423;
        if (again && upload.state !== 'paused') {
          upload.state = 'retrying';
          upload.speed = 0;
        }
        return again;
      },
      onError(error) {
        const response = 'originalResponse' in error ? error.originalResponse : null;
        refuse(upload, response ? parseProblem(response.getBody(), response.getStatus()).detail : t('upload.gaveUp'));
      },
    });
    senders.set(upload.key, { tus, time: performance.now(), sent: 0 });
    upload.state = 'sending';
    tus.start();
  }

  function progressed(upload: Upload, sent: number): void {
    if (upload.state === 'retrying') upload.state = 'sending';
    upload.sent = sent;
    const sender = senders.get(upload.key);
    if (!sender) return;
    const now = performance.now();
    const seconds = (now - sender.time) / 1000;
    if (seconds < 0.25) return;
    const measured = Math.max(0, sent - sender.sent) / seconds;
    upload.speed = upload.speed ? upload.speed * (1 - smoothing) + measured * smoothing : measured;
    sender.time = now;
    sender.sent = sent;
  }

  async function finished(upload: Upload, fileId: string | undefined): Promise<void> {
    senders.delete(upload.key);
    upload.sent = upload.bytes;
    upload.state = 'detecting';
    try {
      if (!fileId) throw new Error(t('upload.noId'));
      upload.file = await describedBy(fileId);
      useSessionFiles().note(upload.file);
      upload.state = 'done';
    } catch (error) {
      refuse(upload, problemOf(error).detail);
    }
  }

  /** What the server found in a file that is in. A line that is down is waited for: the upload itself is done. */
  async function describedBy(fileId: string): Promise<StoredFile> {
    for (const wait of retryDelays) {
      try {
        return await getFile(fileId);
      } catch (error) {
        if (problemOf(error).code !== 'offline') throw error;
      }
      await new Promise((resolve) => window.setTimeout(resolve, wait));
    }
    return getFile(fileId);
  }

  function pause(upload: Upload): void {
    upload.state = 'paused';
    upload.speed = 0;
    void senders.get(upload.key)?.tus.abort();
  }

  async function resume(upload: Upload): Promise<void> {
    const sender = senders.get(upload.key);
    if (!sender) return;
    await sender.tus.abort();
    upload.state = 'sending';
    sender.time = performance.now();
    sender.sent = upload.sent;
    sender.tus.start();
  }

  /** Takes a file out of the composer; a half-sent one is removed from the server as well. */
  function remove(chat: string, upload: Upload): void {
    byChat.value[chat] = list(chat).filter((known) => known.key !== upload.key);
    const sender = senders.get(upload.key);
    senders.delete(upload.key);
    if (sender) sender.tus.abort(true).catch(() => {});
  }

  /** The files that go out with a message; they leave the composer. */
  function take(chat: string): StoredFile[] {
    const done = list(chat).filter((upload) => upload.state === 'done' && upload.file);
    byChat.value[chat] = [];
    return done.map((upload) => upload.file!);
  }

  /** The new chat has become a session. */
  function move(from: string, to: string): void {
    byChat.value[to] = [...list(to), ...list(from)];
    byChat.value[from] = [];
  }

  window.addEventListener('online', () => {
    for (const uploads of Object.values(byChat.value)) {
      for (const upload of uploads) if (upload.state === 'retrying') void resume(upload);
    }
  });

  return { byChat, list, add, pause, resume, remove, take, move };
});
