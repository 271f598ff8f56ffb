import { inTraceOf, log, STEPS, span } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import { newId } from '../ids.ts';
import { Metrics } from '../metrics.ts';
import type { ModelChoice } from '../models/models.service.ts';
import type { ModelCall, ModelMessage, ModelUsage } from '../models/provider.types.ts';
import type { EventIds, LogWriter } from '../sessions/log-writer.ts';
import type { ToolDefinition, ToolResult } from '../tools/tool.types.ts';
import { ToolsService } from '../tools/tools.service.ts';
import { buildContext } from './context.builder.ts';
import { RunEvents } from './run-events.ts';
import { GO_ON } from './system-message.ts';
import { completionTokens, endsInWords, resultData, sendableArguments, triggerOf, withGrace } from './tool-call.ts';
import { type Unit, unitOfCalls } from './transcript.ts';
import { TURN_BOUNDS, type TurnBounds, TurnMeter, tookTooLong } from './turn-bounds.ts';
import { TurnCut } from './turn-cut.ts';
import { endingOf } from './turn-ending.ts';
import type { TurnInput } from './turn-input.ts';
import { budgetTokens, systemOf, TurnSources, type TurnStart } from './turn-sources.ts';

/** One turn while it runs. */
interface Turn {
  readonly input: TurnInput;
  readonly writer: LogWriter;
  readonly ids: EventIds;
  readonly signal: AbortSignal;
  readonly meter: TurnMeter;
  readonly startedAt: number;
  /** Whether its readers know that it began. */
  announced: boolean;
  firstTokenSeen: boolean;
}

/** The model, its tools and the conversation of a turn. */
interface Setting {
  readonly start: TurnStart;
  readonly choice: ModelChoice;
  readonly tools: readonly ToolDefinition[];
  readonly system: string;
}

/** What the model said in one step. */
interface StepAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
}

/**
 * One turn from its first request to its last event: ask the model, run the tools it calls, ask again, until it answers in words. Whatever happens, the
 * text so far is kept and the turn ends with exactly one closing event.
 */
@Injectable()
export class TurnLoop {
  /** Where a turn ends though the model would go on. */
  bounds: TurnBounds = TURN_BOUNDS;

  constructor(
    @Inject(TurnSources) private readonly sources: TurnSources,
    @Inject(ToolsService) private readonly tools: ToolsService,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  /** Runs a turn to its end. Aborting `cut` (reason: a TurnCut) ends it early. Never throws. */
  async run(input: TurnInput, writer: LogWriter, cut: AbortController): Promise<void> {
    const { wallSeconds } = this.bounds;
    const timer = setTimeout(() => cut.abort(tookTooLong(wallSeconds)), wallSeconds * 1000);
    const turn: Turn = {
      input,
      writer,
      ids: { turnId: input.turnId, messageId: input.answerId },
      signal: AbortSignal.any([cut.signal, writer.refused]),
      meter: new TurnMeter(this.bounds),
      startedAt: Date.now(),
      announced: false,
      firstTokenSeen: false,
    };
    this.metrics.turnsRunning.inc();
    try {
      await inTraceOf(input.trace, () => span('moli.turn', {}, () => this.#whole(turn)));
    } catch (error) {
      log.error('a turn could not be ended', { session: writer.held.sessionId, turn: input.turnId, error });
    } finally {
      clearTimeout(timer);
      this.metrics.turnsRunning.dec();
      this.metrics.turnSeconds.observe((Date.now() - input.acceptedAt) / 1000);
    }
  }

  async #whole(turn: Turn): Promise<void> {
    let failure: unknown;
    try {
      await this.#answer(turn);
    } catch (thrown) {
      failure = turn.signal.aborted ? turn.signal.reason : thrown;
    }
    if (turn.writer.refused.aborted) {
      this.metrics.turns.inc({ outcome: 'lost' });
      return;
    }
    await span(STEPS.render, {}, () => this.#end(turn, failure));
  }

  async #answer(turn: Turn): Promise<void> {
    const { input, writer } = turn;
    turn.signal.throwIfAborted();
    const start = await this.sources.start(writer.held.sessionId, input);
    writer.beginAnswer(start.answer.text, start.answer.reasoning);
    const { agent, model } = start;
    const choice = 'provider' in model ? model : undefined;
    this.#announce(turn, { agentId: agent.id, reason: agent.routing.mode, choice });
    if (!choice) throw model;
    const tools = this.tools.offered(input.caller, agent);
    await this.#steps(turn, { start, choice, tools, system: systemOf(start, choice.model, input) });
  }

  #announce(
    turn: Turn,
    { agentId, reason, choice }: { agentId: string; reason: string; choice: ModelChoice | undefined },
  ): void {
    const { input, writer, ids } = turn;
    turn.announced = true;
    writer.append(
      'turn.started',
      {
        model: choice?.name ?? '',
        reason,
        agentId,
        ...(choice?.scripted ? { scripted: true } : {}),
        ...(input.kind === 'continue' ? { continues: input.answerId } : {}),
        ...(input.replaces ? { replaces: input.replaces } : {}),
      },
      ids,
    );
  }

  async #steps(turn: Turn, setting: Setting): Promise<void> {
    const { start, choice } = setting;
    const units: Unit[] = [...start.current.units];
    // Only an answer that ends in words can be gone on with; after a tool's result the model goes on by itself.
    let goOn = endsInWords(units) ? GO_ON[turn.input.caller.locale] : undefined;
    for (;;) {
      turn.meter.step();
      const context = await span(STEPS.context, {}, () =>
        buildContext(
          {
            system: setting.system,
            history: start.history,
            current: { ...start.current, units },
            goOn,
            tools: setting.tools,
            budgetTokens: budgetTokens(start.agent, choice),
          },
          choice.provider,
        ),
      );
      const answer = await span(STEPS.decide, { 'moli.messages': context.messages.length }, () =>
        this.#ask(turn, setting, context),
      );
      if (answer.calls.length === 0) return;
      goOn = undefined;
      units.push(await this.#callAll(turn, setting, answer));
    }
  }

  /** One request to the model. What arrives goes into the log at once; tokens are counted also when the answer is cut. */
  async #ask(
    turn: Turn,
    { choice, tools }: Setting,
    context: { messages: ModelMessage[]; tokens: number },
  ): Promise<StepAnswer> {
    const { writer, ids, signal, meter } = turn;
    const before = { text: writer.answer.text.length, reasoning: writer.answer.reasoning.length };
    const calls: ModelCall[] = [];
    // The writer has the text already: gathered here as well, each token of each stream would be kept twice.
    const said = (): StepAnswer => {
      writer.endText();
      const { text, reasoning } = writer.answer;
      return { text: text.slice(before.text), reasoning: reasoning.slice(before.reasoning), calls };
    };
    let usage: ModelUsage | undefined;
    try {
      for await (const event of choice.provider.streamChat(context.messages, tools, { signal })) {
        signal.throwIfAborted();
        if (event.type === 'end') {
          usage = event.usage;
          continue;
        }
        this.#firstToken(turn);
        if (event.type === 'text') writer.piece('text.delta', event.text, ids);
        else if (event.type === 'reasoning') writer.piece('reasoning.delta', event.text, ids);
        else calls.push(event.call);
      }
      signal.throwIfAborted();
      return said();
    } finally {
      // The provider counts what it sent when the server does not say, or the answer was cut.
      meter.tokens(
        usage?.promptTokens ?? context.tokens,
        usage?.completionTokens ?? (await completionTokens(choice, said())),
      );
    }
  }

  #firstToken(turn: Turn): void {
    if (turn.firstTokenSeen) return;
    turn.firstTokenSeen = true;
    this.metrics.firstTokenSeconds.observe((Date.now() - turn.startedAt) / 1000);
  }

  /** The calls of one step, in order, as one unit with their results. */
  async #callAll(turn: Turn, setting: Setting, answer: StepAnswer): Promise<Unit> {
    const done: { call: ModelCall; result: string }[] = [];
    for (const call of answer.calls) {
      const name = this.tools.nameOf(call.name);
      turn.meter.call(name, call.arguments);
      const result = await this.#call(turn, setting, call, triggerOf(answer));
      turn.signal.throwIfAborted();
      done.push({ call: { ...call, arguments: sendableArguments(call, result) }, result: result.content });
      turn.meter.result(name, result.error?.code !== 'bad_arguments');
    }
    return unitOfCalls(answer.text, done, answer.reasoning);
  }

  async #call(
    { input, writer, ids, signal }: Turn,
    { tools }: Setting,
    call: ModelCall,
    trigger: string,
  ): Promise<ToolResult> {
    const callId = newId('call');
    const run = new RunEvents(writer, ids, callId);
    let announced = false;
    const announce = (args: Readonly<Record<string, unknown>>, name: string): void => {
      if (announced) return;
      announced = true;
      writer.append('tool.call', { callId, name, arguments: { ...args }, trigger }, ids);
    };
    const calling = span(STEPS.call, { 'moli.tool': this.tools.nameOf(call.name) }, () =>
      this.tools.call(input.caller, {
        name: call.name,
        rawArguments: call.arguments,
        offered: tools,
        sessionId: writer.held.sessionId,
        turnId: input.turnId,
        callId,
        signal,
        onArguments: announce,
        onRun: (runId) => run.queued(runId),
        onRunEntry: (entry) => run.entry(entry),
      }),
    );
    const result = await withGrace(calling, signal).finally(() => run.close());
    const name = this.tools.nameOf(call.name);
    announce(result.arguments ?? { raw: call.arguments.slice(0, 2_000) }, name);
    await span(STEPS.result, { 'moli.tool': name }, () =>
      writer.append('tool.result', resultData(callId, name, result), ids),
    );
    return result;
  }

  async #end(turn: Turn, failure: unknown): Promise<void> {
    const { writer, ids, input } = turn;
    if (failure instanceof TurnCut && failure.kind === 'dropped') return;
    if (!turn.announced) this.#announce(turn, { agentId: '', reason: '', choice: undefined });
    writer.endText();
    const durationMs = Date.now() - turn.startedAt;
    const ending = endingOf(failure, { usage: turn.meter.usage, durationMs, locale: input.caller.locale });
    if (ending.bug) log.error('a turn failed', { session: writer.held.sessionId, turn: ids.turnId, error: failure });
    const { text, reasoning } = writer.answer;
    const completed = { messageId: ids.messageId, text, ...(reasoning ? { reasoning } : {}), status: ending.status };
    writer.append('message.completed', completed, ids);
    ending.append(writer, ids);
    this.metrics.turns.inc({ outcome: ending.status });
    log.info('a turn ended', {
      tenant: input.caller.tenantId,
      session: writer.held.sessionId,
      turn: ids.turnId,
      outcome: ending.status,
      steps: turn.meter.usage.steps,
    });
    await writer.settled();
  }
}
