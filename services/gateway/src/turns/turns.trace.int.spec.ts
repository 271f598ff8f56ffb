import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { STEPS } from '@moli/telemetry';
import { testFolder } from '@moli/testing';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FileIntake } from '../files/file-intake.ts';
import type { Caller } from '../identity/caller.ts';
import { isTurnEnd, type TurnWorld, turnWorld } from './turns.fixture.ts';
import { TurnsService } from './turns.service.ts';

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
let world: TurnWorld;

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  world = await turnWorld([
    { tool: false, reply: { steps: [{ call: { name: 'calculate', arguments: { expression: '6*7' } } }] } },
    { tool: true, reply: { steps: [{ text: '42' }] } },
  ]);
});
afterAll(() => world.close());

test('an upload, its message and all that follows are one trace, also for a message that had to wait', async () => {
  const sessionId = await world.newSession();
  const { tenant } = (await world.ask('/v1/me')).json;
  const caller: Caller = {
    tenantId: tenant.id,
    userId: null,
    role: 'owner',
    keyId: null,
    actor: 'system',
    locale: 'en',
  };
  const turns = world.gateway.app.get(TurnsService);
  const path = join(testFolder('traced'), 'sales.csv');
  writeFileSync(path, 'a,b\n1,2\n');
  const traceIds: string[] = [];
  const turnIds: string[] = [];
  for (const text of ['first', 'second']) {
    await trace.getTracer('test').startActiveSpan(`POST ${text}`, async (span) => {
      traceIds.push(span.spanContext().traceId);
      const incoming = { path, name: `${text}.csv`, bytes: 8, sessionId };
      const { id } = await world.gateway.app.get(FileIntake).ingest(caller, incoming);
      turnIds.push((await turns.send(caller, sessionId, { text, fileIds: [id] })).turnId);
      span.end();
    });
  }
  await world.follow(sessionId, (event) => isTurnEnd(event) && event.turnId === turnIds[1]);
  await provider.forceFlush();
  for (const traceId of traceIds) {
    const names = exporter
      .getFinishedSpans()
      .filter((span) => span.spanContext().traceId === traceId)
      .map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        STEPS.upload,
        'moli.turn',
        STEPS.context,
        STEPS.decide,
        STEPS.call,
        STEPS.result,
        STEPS.render,
      ]),
    );
    expect(names.filter((name) => name === STEPS.decide)).toHaveLength(2);
  }
});
