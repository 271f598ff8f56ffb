import { defineStore } from 'pinia';
import { ref } from 'vue';
import { getSessionFiles } from '../api/routes.ts';
import type { SessionArtifact, StoredFile, TableSniff } from '../api/types.ts';

interface SessionFiles {
  files: StoredFile[];
  artifacts: SessionArtifact[];
}

/** Files and artifacts by session. The message shows the facts of its files, the inspector all of them. */
export const useSessionFiles = defineStore('session-files', () => {
  const bySession = ref<Record<string, SessionFiles>>({});
  const tables = ref<Record<string, TableSniff>>({});

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

  return { bySession, load, tableOf, note };
});
