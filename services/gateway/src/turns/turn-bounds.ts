import { AppError } from '@moli/errors';

/** Where a turn ends though the model would go on. */
export interface TurnBounds {
  /** Requests to the model. */
  readonly steps: number;
  /** The same call with the same arguments: this one is not run any more. */
  readonly identicalCalls: number;
  /** Calls in a row whose arguments go back to the model; the next bad one ends the turn. */
  readonly badArguments: number;
  readonly wallSeconds: number;
  /** Tokens sent and received in all steps together. */
  readonly tokens: number;
}

export const TURN_BOUNDS: TurnBounds = {
  steps: 12,
  identicalCalls: 3,
  badArguments: 2,
  wallSeconds: 300,
  tokens: 1_000_000,
};

/** Counts what a turn uses and throws `turn_limit` where it must end. */
export class TurnMeter {
  readonly usage = { promptTokens: 0, completionTokens: 0, steps: 0 };
  readonly #bounds: TurnBounds;
  readonly #calls = new Map<string, number>();
  #badArguments = 0;

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds;
  }

  /** Before a request to the model. */
  step(): void {
    const { steps, tokens } = this.#bounds;
    if (this.usage.steps >= steps) throw tooManySteps(steps);
    const used = this.usage.promptTokens + this.usage.completionTokens;
    if (used >= tokens) throw tooManyTokens(used, tokens);
    this.usage.steps += 1;
  }

  /** After a request, also one that was cut short. */
  tokens(promptTokens: number, completionTokens: number): void {
    this.usage.promptTokens += promptTokens;
    this.usage.completionTokens += completionTokens;
  }

  /** Before a call is run. */
  call(name: string, rawArguments: string): void {
    const key = `${name} ${rawArguments.replaceAll(/\s+/g, ' ').trim()}`;
    const count = (this.#calls.get(key) ?? 0) + 1;
    this.#calls.set(key, count);
    if (count >= this.#bounds.identicalCalls) throw identicalCalls(name, count);
  }

  /** After a call. */
  result(name: string, argumentsUsable: boolean): void {
    this.#badArguments = argumentsUsable ? 0 : this.#badArguments + 1;
    if (this.#badArguments > this.#bounds.badArguments) throw badArguments(name, this.#badArguments);
  }
}

const limit = (bound: string, zh: string, en: string, fields: Record<string, unknown> = {}): AppError =>
  new AppError('turn_limit', { zh, en }, { fields: { bound, ...fields } });

const tooManySteps = (steps: number): AppError =>
  limit(
    'steps',
    `这一轮已经进行了 ${steps} 步，为避免无休止地运行而停在这里，已有的内容都保留。可以点“继续”让它接着做，或把任务拆小再问。`,
    `This turn took ${steps} steps and was ended so that it does not go on for ever; everything so far is kept. Use "continue" to let it go on, or ask for less at once.`,
    { limit: steps },
  );

const tooManyTokens = (used: number, tokens: number): AppError =>
  limit(
    'tokens',
    `这一轮已用了 ${used} 个 token，达到单轮上限 ${tokens}，已有的内容都保留。可以点“继续”，或把任务拆小再问。`,
    `This turn used ${used} tokens, which reaches the bound of ${tokens} for one turn; everything so far is kept. Use "continue", or ask for less at once.`,
    { used, limit: tokens },
  );

const identicalCalls = (name: string, count: number): AppError =>
  limit(
    'identical_calls',
    `模型第 ${count} 次用完全相同的参数调用工具 ${name}，不会再有不同的结果，这一轮到此结束。请换个说法再问，或补充它缺少的信息。`,
    `The model called the tool ${name} ${count} times with exactly the same arguments, which would not give another result, so the turn was ended. Ask in another way, or add what it lacks.`,
    { tool: name, limit: count },
  );

const badArguments = (name: string, count: number): AppError =>
  limit(
    'bad_arguments',
    `模型连续 ${count} 次给工具 ${name} 的参数都不可用，这一轮到此结束。请换个说法再问；若经常如此，请换一个更擅长调用工具的模型。`,
    `The model gave the tool ${name} arguments that cannot be used ${count} times in a row, so the turn was ended. Ask in another way; if it happens often, choose a model that is better at calling tools.`,
    { tool: name },
  );

export const tookTooLong = (seconds: number): AppError =>
  limit(
    'wall_time',
    `这一轮已经用了 ${seconds} 秒，达到时间上限，已有的内容都保留。可以点“继续”，或把任务拆小再问。`,
    `This turn took ${seconds} seconds, which is the longest a turn may take; everything so far is kept. Use "continue", or ask for less at once.`,
    { limit: seconds },
  );
