import { watch } from 'vue';
import { announce } from '../frame/live-region.ts';
import { t } from '../i18n/i18n.ts';
import { resultWords } from '../runs/call-results.ts';
import type { Turn } from '../sessions/session-fold.ts';
import type { SessionView } from '../sessions/session-log.ts';

/** Says when an answer is finished and what it brought; never single words of it. */
export function useAnnouncements(view: () => SessionView | undefined): void {
  watch(
    () => view()?.running,
    (running, before) => {
      if (running || !before) return;
      const turn = view()?.turns.find((candidate) => candidate.id === before.id);
      if (turn) announce(sentence(turn, view()!));
    },
  );
}

function sentence(turn: Turn, view: SessionView): string {
  if (turn.state === 'stopped') return t('announce.stopped');
  if (turn.state !== 'completed') return t('announce.failed');
  const message = view.messages.find((candidate) => candidate.id === turn.messageId);
  return [t('announce.finished'), ...resultWords(Object.values(message?.tools ?? {}))].join(', ');
}
