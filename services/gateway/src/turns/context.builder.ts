import { AppError } from '@moli/errors';
import type { ModelMessage, ModelProvider, ModelTool } from '../models/provider.types.ts';
import type { Exchange, Unit } from './transcript.ts';

export interface ContextParts {
  /** Instructions and the list of files; always sent. */
  readonly system: string;
  /** Earlier exchanges, oldest first. */
  readonly history: readonly Exchange[];
  /** The question that is being answered, always sent, and what this turn did so far. */
  readonly current: Exchange;
  /** Asks the model to go on with the answer that `current` ends with. */
  readonly goOn: string | undefined;
  readonly tools: readonly ModelTool[];
  /** Most tokens of the request. */
  readonly budgetTokens: number;
}

export interface Context {
  readonly messages: ModelMessage[];
  /** Exactly what the provider counts for messages and tools. */
  readonly tokens: number;
  /** Messages of the conversation that did not fit. */
  readonly leftOut: number;
}

/** Messages that are kept or left out as one. */
interface Piece {
  readonly messages: readonly ModelMessage[];
  readonly tokens: number;
}

/**
 * The request for one step of a turn. When the conversation is over the budget, the oldest whole units go first: of the oldest exchange its steps one
 * by one, with the last of them its question; then those of the next. Of the turn itself the newest step always stays. Errors: `context_overflow` when not
 * even question, files and newest step fit.
 */
export async function buildContext(parts: ContextParts, provider: Pick<ModelProvider, 'measure'>): Promise<Context> {
  const system: ModelMessage = { role: 'system', content: parts.system };
  const tail: Unit[] = [...parts.current.units];
  const question: ModelMessage = { role: 'user', content: parts.current.question };
  const goOn: ModelMessage[] = parts.goOn === undefined ? [] : [{ role: 'user', content: parts.goOn }];
  const exchanges = parts.history.map((exchange) => [
    [{ role: 'user' as const, content: exchange.question }],
    ...exchange.units,
  ]);
  const all = [system, ...exchanges.flat(2), question, ...tail.flat(), ...goOn];
  const measure = await provider.measure(all, parts.tools);
  let position = 0;
  const piece = (messages: readonly ModelMessage[]): Piece => {
    const tokens = measure.messages.slice(position, position + messages.length).reduce((sum, one) => sum + one, 0);
    position += messages.length;
    return { messages, tokens };
  };
  const head = piece([system]);
  const history = exchanges.map((units) => units.map(piece));
  const asked = piece([question]);
  const steps = tail.map(piece);
  const last = piece(goOn);
  const dropped = new Set<Piece>();
  let tokens = measure.tokens;
  for (const one of inDropOrder(history, steps)) {
    if (tokens <= parts.budgetTokens) break;
    for (const part of one) {
      dropped.add(part);
      tokens -= part.tokens;
    }
  }
  if (tokens > parts.budgetTokens) throw overflow(tokens, parts.budgetTokens);
  const kept = [head, ...history.flat(), asked, ...steps, last].filter((one) => !dropped.has(one));
  const messages = kept.flatMap((one) => one.messages);
  return { messages, tokens, leftOut: all.length - messages.length };
}

/** What to leave out, first to last; each entry goes as a whole. */
function* inDropOrder(history: readonly (readonly Piece[])[], steps: readonly Piece[]): Generator<readonly Piece[]> {
  for (const exchange of history) {
    const [question, ...units] = exchange;
    const last = units.pop();
    for (const unit of units) yield [unit];
    yield [question, last].filter((one) => one !== undefined);
  }
  for (const step of steps.slice(0, -1)) yield [step];
}

function overflow(tokens: number, budget: number): AppError {
  return new AppError(
    'context_overflow',
    {
      zh: `这个问题连同文件说明需要 ${tokens} 个 token，超过了可用的 ${budget} 个。请缩短消息、减少会话里的文件，或在设置里换一个上下文更长的模型。`,
      en: `The question with its files needs ${tokens} tokens, more than the ${budget} that are available. Shorten the message, remove files from the session, or choose a model with a longer context in the settings.`,
    },
    { fields: { tokens, limit: budget } },
  );
}
