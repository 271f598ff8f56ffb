import { defineStore } from 'pinia';
import { ref } from 'vue';
import type { SessionEvent } from '../api/events.ts';
import { createSession, deleteSession, listSessions, updateSession } from '../api/routes.ts';
import type { Session } from '../api/types.ts';
import { writePreference } from '../preferences/storage.ts';
import { createSessionLog, type SessionLog } from './session-log.ts';
import { useSocket } from './socket.store.ts';

/** Time in which a deletion can be taken back, in milliseconds. */
export const undoMs = 6000;
/** Logs kept in memory after their page was left. */
const keptLogs = 8;
const pageSize = 50;

/** The sessions of the rail, and the logs that this tab has open. */
export const useSessions = defineStore('sessions', () => {
  const items = ref<Session[]>([]);
  const nextCursor = ref<string | null>(null);
  const loaded = ref(false);
  const unread = ref(new Set<string>());
  const currentId = ref<string | null>(null);
  const logs = new Map<string, SessionLog>();
  const deletions = new Map<string, { session: Session; timer: number }>();

  async function load(): Promise<void> {
    const page = await listSessions({ limit: pageSize });
    items.value = page.items.filter((session) => !deletions.has(session.id));
    nextCursor.value = page.nextCursor;
    loaded.value = true;
    for (const session of items.value) if (session.running) followQuietly(session);
  }

  async function loadMore(): Promise<void> {
    const cursor = nextCursor.value;
    if (!cursor) return;
    nextCursor.value = null;
    const page = await listSessions({ limit: pageSize, cursor });
    const known = new Set(items.value.map((session) => session.id));
    items.value.push(...page.items.filter((session) => !known.has(session.id) && !deletions.has(session.id)));
    nextCursor.value = page.nextCursor;
  }

  function find(id: string): Session | undefined {
    return items.value.find((session) => session.id === id);
  }

  function put(session: Session): void {
    const index = items.value.findIndex((known) => known.id === session.id);
    if (index >= 0) items.value[index] = session;
    else items.value.unshift(session);
  }

  function patch(id: string, changes: Partial<Session>): void {
    const session = find(id);
    if (session) Object.assign(session, changes);
  }

  async function create(agentId?: string): Promise<Session> {
    const session = await createSession(agentId);
    put(session);
    return session;
  }

  async function rename(id: string, title: string): Promise<void> {
    const before = find(id)?.title ?? '';
    patch(id, { title });
    try {
      put({ ...(await updateSession(id, { title })) });
    } catch (error) {
      patch(id, { title: before });
      throw error;
    }
  }

  async function setAgent(id: string, agentId: string): Promise<void> {
    put(await updateSession(id, { agentId }));
  }

  /** Takes the session out of sight; it is deleted when the time to undo is over or the page is left. */
  function remove(id: string, onError: (error: unknown) => void): void {
    const session = find(id);
    if (!session) return;
    items.value = items.value.filter((known) => known.id !== id);
    const timer = window.setTimeout(() => finish(id, false).catch(onError), undoMs);
    deletions.set(id, { session, timer });
  }

  function undoRemove(id: string): void {
    const entry = deletions.get(id);
    if (!entry) return;
    window.clearTimeout(entry.timer);
    deletions.delete(id);
    const at = items.value.findIndex((session) => session.updatedAt < entry.session.updatedAt);
    items.value.splice(at < 0 ? items.value.length : at, 0, entry.session);
  }

  async function finish(id: string, keepalive: boolean): Promise<void> {
    const entry = deletions.get(id);
    if (!entry) return;
    window.clearTimeout(entry.timer);
    deletions.delete(id);
    try {
      await deleteSession(id, keepalive);
    } catch (error) {
      put(entry.session);
      throw error;
    }
    logs.get(id)?.stop();
    logs.delete(id);
    writePreference(`draft.${id}`, null);
  }

  window.addEventListener('pagehide', () => {
    for (const id of [...deletions.keys()]) finish(id, true).catch(() => {});
  });

  /** What any event of a session means for its row. */
  function note(event: SessionEvent): void {
    const { sessionId, type } = event;
    if (type === 'turn.started') patch(sessionId, { running: true, updatedAt: event.at });
    else if (type === 'session.updated') patch(sessionId, { title: event.data.title });
    else if (type === 'session.deleted') items.value = items.value.filter((session) => session.id !== sessionId);
    else if (isTurnEnd(type)) {
      const wasRunning = find(sessionId)?.running;
      patch(sessionId, { running: false, updatedAt: event.at });
      if (wasRunning && currentId.value !== sessionId) unread.value.add(sessionId);
    }
    const session = find(sessionId);
    if (session && event.seq > session.lastSeq) session.lastSeq = event.seq;
  }

  /** Waits for the end of a turn in a session that is not open here. */
  function followQuietly(session: Session): void {
    if (logs.has(session.id)) return;
    let after = session.lastSeq;
    useSocket().subscribe({
      sessionId: session.id,
      after: () => after,
      onEvent(event) {
        if (event.seq <= after) return;
        after = event.seq;
        note(event);
      },
    });
  }

  /** The live log of a session; opened once and kept while the tab has few others. */
  function open(id: string): SessionLog {
    const known = logs.get(id);
    if (known) {
      logs.delete(id);
      logs.set(id, known);
      return known;
    }
    const log = createSessionLog(id, note);
    logs.set(id, log);
    log.start();
    for (const [oldId, old] of logs) {
      if (logs.size <= keptLogs) break;
      if (old.view.value.running || old.pending.value.length || oldId === id) continue;
      old.stop();
      logs.delete(oldId);
    }
    return log;
  }

  function setCurrent(id: string | null): void {
    currentId.value = id;
    if (id) unread.value.delete(id);
  }

  return {
    items,
    nextCursor,
    loaded,
    unread,
    currentId,
    load,
    loadMore,
    find,
    put,
    patch,
    create,
    rename,
    setAgent,
    remove,
    undoRemove,
    open,
    setCurrent,
  };
});

function isTurnEnd(type: SessionEvent['type']): boolean {
  return type === 'turn.completed' || type === 'turn.stopped' || type === 'turn.failed' || type === 'turn.interrupted';
}
