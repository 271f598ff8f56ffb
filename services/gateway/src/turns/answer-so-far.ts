import type { TenantTx } from '../database/tenant-db.ts';

/** Text and reasoning of an answer as its readers have it: joined deltas, a hand edit in place of all text before it. */
export async function foldAnswer(
  tx: TenantTx,
  sessionId: string,
  messageId: string,
): Promise<{ text: string; reasoning: string }> {
  const rows = await tx
    .selectFrom('events')
    .select(['type', 'data'])
    .where('session_id', '=', sessionId)
    .where('message_id', '=', messageId)
    .where('type', 'in', ['text.delta', 'reasoning.delta', 'message.edited'])
    .orderBy('seq')
    .execute();
  const answer = { text: '', reasoning: '' };
  for (const { type, data } of rows) {
    const text = String(data.text ?? '');
    if (type === 'text.delta') answer.text += text;
    else if (type === 'reasoning.delta') answer.reasoning += text;
    else answer.text = text;
  }
  return answer;
}
