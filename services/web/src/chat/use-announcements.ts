import { watch } from 'vue';
import { announce } from '../frame/live-region.ts';
import { t } from '../i18n/i18n.ts';
import { resultWords } from '../runs/call-results.ts';
import type { Turn } from '../sessions/session-fold.ts';
import type { SessionView } from '../sessions/session-log.ts';

/** A wait for a sandbox is said after this long, in milliseconds; most are over before. */
const waitMs = 1000;

/** Says when an answer waits for a sandbox, when it is finished and what it brought; never single words of it. */
export function useAnnouncements(view: () => SessionView | undefined): void {
  watch(
    () => view()?.running,
    (running, before) => {
      if (running || !before) return;
      const turn = view()?.turns.find((candidate) => candidate.id === before.id);
      if (turn) announce(sentence(turn, view()!));
    },
  );

  watch(
    () => preparing(view()),
    (waits, _before, onCleanup) => {
      if (!waits) return;
      const timer = window.setTimeout(() => announce(t('run.preparing.title')), waitMs);
      onCleanup(() => window.clearTimeout(timer));
    },
  );
}

function preparing(view: SessionView | undefined): boolean {
  const answer = view?.running && view.messages.findLast(({ turnId }) => turnId === view.running?.id);
  return answer ? Object.values(answer.tools).some(({ state }) => state === 'preparing') : false;
}

function sentence(turn: Turn, view: SessionView): string {
  if (turn.state === 'stopped') return t('announce.stopped');
  if (turn.state !== 'completed') return t('announce.failed');
  const message = view.messages.find((candidate) => candidate.id === turn.messageId);
  return [t('announce.finished'), ...resultWords(Object.values(message?.tools ?? {}))].join(', ');
}
