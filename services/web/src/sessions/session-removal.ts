import { useRouter } from 'vue-router';
import { showProblem, showToast } from '../frame/toasts.ts';
import { t } from '../i18n/i18n.ts';
import { undoMs, useSessions } from './sessions.store.ts';

/** Deletes a session with a while to take it back. */
export function useSessionRemoval(): (id: string) => void {
  const sessions = useSessions();
  const router = useRouter();
  return (id) => {
    const wasOpen = sessions.currentId === id;
    const title = sessions.find(id)?.title || t('session.untitled');
    sessions.remove(id, showProblem);
    if (wasOpen) router.push('/');
    showToast(t('session.deleted', { title }), {
      ms: undoMs,
      action: {
        label: t('action.undo'),
        run() {
          sessions.undoRemove(id);
          if (wasOpen) router.push({ name: 'chat', params: { sessionId: id } });
        },
      },
    });
  };
}
