import type { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agents.schema.ts';
import { AgentsService } from '../agents/agents.service.ts';
import { promptVariables, renderSystemPrompt } from '../agents/system-prompt.ts';
import { ArtifactsService } from '../artifacts/artifacts.service.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import { FilesService } from '../files/files.service.ts';
import { type ModelChoice, ModelsService } from '../models/models.service.ts';
import { translate } from '../problem/translate.ts';
import { readEventsOf } from '../sessions/events.store.ts';
import { foldAnswer } from './answer-so-far.ts';
import { systemMessage } from './system-message.ts';
import { type Exchange, exchangesOf, TRANSCRIPT_EVENTS } from './transcript.ts';
import type { TurnInput } from './turn-input.ts';

/** Room kept free for the answer: this many tokens, but at most a quarter of the window. */
const ANSWER_TOKENS = 4096;

/** The conversation as the turn finds it. */
export interface TurnStart {
  readonly agent: Agent;
  /** The model that the agent names, or why there is none: `no_model`, `unavailable`. */
  readonly model: ModelChoice | AppError;
  readonly history: readonly Exchange[];
  /** The message that is answered; a continued answer has its steps so far. */
  readonly current: Exchange;
  readonly files: readonly string[];
  readonly outputs: readonly string[];
  /** What a continued answer says already, as its readers have it. */
  readonly answer: { readonly text: string; readonly reasoning: string };
}

type TurnSetting = Pick<TurnStart, 'agent' | 'model'>;

/** Reads what a turn needs before it can ask the model. */
@Injectable()
export class TurnSources {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(AgentsService) private readonly agents: AgentsService,
    @Inject(ModelsService) private readonly models: ModelsService,
    @Inject(FilesService) private readonly files: FilesService,
    @Inject(ArtifactsService) private readonly artifacts: ArtifactsService,
  ) {}

  /** Agent, model, conversation and files as they are now; read in one round trip, since the person waits for the first word. */
  async start(sessionId: string, input: TurnInput): Promise<TurnStart> {
    const { tenantId } = input.caller;
    const [setting, conversation] = await this.db.read(tenantId, (tx) =>
      Promise.all([this.#setting(tx, input.agentId), this.#conversation(tx, sessionId, input)]),
    );
    return { ...conversation, ...(setting ?? (await this.#currentSetting(sessionId, input))) };
  }

  async #setting(tx: TenantTx, agentId: string): Promise<TurnSetting | undefined> {
    const [agent, model] = await Promise.all([
      this.agents.find(tx, agentId),
      this.models.pick(tx, agentId).catch(translate),
    ]);
    return agent ? { agent, model } : undefined;
  }

  /** Between acceptance and turn the session got another agent and the old one was deleted. */
  async #currentSetting(sessionId: string, { caller: { tenantId } }: TurnInput): Promise<TurnSetting> {
    return this.db.as(tenantId, async (tx) => {
      const session = await tx
        .selectFrom('sessions')
        .select('agent_id')
        .where('id', '=', sessionId)
        .executeTakeFirstOrThrow();
      const setting = await this.#setting(tx, session.agent_id);
      if (!setting) throw new Error('the agent of a session is gone');
      return setting;
    });
  }

  async #conversation(tx: TenantTx, sessionId: string, input: TurnInput): Promise<Omit<TurnStart, 'agent' | 'model'>> {
    const continues = input.kind === 'continue';
    const [events, workspace, answer] = await Promise.all([
      readEventsOf(tx, sessionId, TRANSCRIPT_EVENTS),
      this.#workspace(tx, sessionId, input),
      continues ? foldAnswer(tx, sessionId, input.answerId) : { text: '', reasoning: '' },
    ]);
    const exchanges = exchangesOf(events);
    const position = exchanges.findIndex(({ messageId }) => messageId === input.messageId);
    const found = exchanges[position];
    if (!found) throw new Error('the message of a turn is not in the log of its session');
    const current = continues ? found : { ...found, units: [] };
    return { history: exchanges.slice(0, position), current, ...workspace, answer };
  }

  async #workspace(
    tx: TenantTx,
    sessionId: string,
    { caller }: TurnInput,
  ): Promise<Pick<TurnStart, 'files' | 'outputs'>> {
    const [files, artifacts] = await Promise.all([
      this.files.forSession(tx, sessionId),
      this.artifacts.listForSession(tx, sessionId),
    ]);
    return {
      files: files.map((file) => this.files.describe(file, caller.locale)),
      outputs: artifacts.map(({ name }) => name),
    };
  }
}

/** The system message of a turn that begins now. */
export function systemOf({ agent, files, outputs }: TurnStart, model: string, { caller }: TurnInput): string {
  const variables = promptVariables(new Date(), { agent: agent.name, model }, caller.locale);
  const prompt = renderSystemPrompt(agent.systemPrompt, variables);
  return systemMessage({ prompt, files, outputs, locale: caller.locale });
}

/** Most tokens that a request may have, so that an answer still fits into the window. */
export function budgetTokens({ context }: Agent, { contextTokens }: ModelChoice): number {
  const window = Math.min(contextTokens, context.maxTokens ?? contextTokens);
  return window - Math.min(ANSWER_TOKENS, Math.floor(window / 4));
}
