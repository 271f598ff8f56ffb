import { defineStore } from 'pinia';
import { ref } from 'vue';
import { getSessionFiles, listRuns } from '../api/routes.ts';
import type { SessionArtifact, StoredFile, TableSniff } from '../api/types.ts';

interface SessionFiles {
  files: StoredFile[];
  artifacts: SessionArtifact[];
}

/** Files and artifacts by session. The message shows the facts of its files, the inspector all of them. */
export const useSessionFiles = defineStore('session-files', () => {
  const bySession = ref<Record<string, SessionFiles>>({});
  const tables = ref<Record<string, TableSniff>>({});
  /** Runs that people started again, by the run they repeat; oldest first. */
  const reruns = ref<Record<string, string[]>>({});

  async function load(sessionId: string): Promise<void> {
    const found = await getSessionFiles(sessionId);
    bySession.value[sessionId] = found;
    for (const file of found.files) if (file.table) tables.value[file.id] = file.table;
  }

  /** What was detected in an uploaded table, if it is known here. */
  const tableOf = (fileId: string): TableSniff | undefined => tables.value[fileId];

  function note(file: StoredFile): void {
    if (file.table) tables.value[file.id] = file.table;
  }

  /** Both are asked for once when a session with runs is opened. */
  async function loadReruns(sessionId: string): Promise<void> {
    const { items } = await listRuns(sessionId);
    const found: Record<string, string[]> = {};
    for (const { runId, rerunOf } of items.toReversed()) {
      if (rerunOf) found[rerunOf] = [...(found[rerunOf] ?? []), runId];
    }
    Object.assign(reruns.value, found);
  }

  return { reruns, loadReruns, bySession, load, tableOf, note };
});
