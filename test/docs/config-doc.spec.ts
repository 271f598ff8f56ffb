import { describeConfig } from '@moli/config';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { ExecutorConfig } from '../../services/executor/src/config.ts';
import { CourierConfig } from '../../services/executor/src/courier/config.ts';
import { GatewayConfigSchema } from '../../services/gateway/src/config.ts';
import { committedDoc, table } from './generated-doc.ts';

const HEAD = `# Configuration

All configuration is by environment variables, read once at the start. A bad value stops the start and the message names its variable. An empty
variable counts as absent. On one machine \`./moli up\` reads \`.env\` in the data folder or beside the launcher and sets addresses, roles and
secrets by itself; what people usually set are the three model variables.

This file is made from the code: \`MOLI_WRITE_DOCS=1 npx vitest run test/docs\`.`;

function section(title: string, schema: z.ZodObject): string {
  const rows = describeConfig(schema).map((one) => [
    [one.variable, ...one.aliases].map((name) => `\`${name}\``).join(', '),
    one.required ? '**required**' : one.default ? `\`${one.default}\`` : '–',
    `${one.description}${one.secret ? ' Secret.' : ''}`,
  ]);
  return `## ${title}\n\n${table(['variable', 'default', 'what it does'], rows)}`;
}

const text = `${[HEAD, section('Gateway', GatewayConfigSchema), section('Executor', ExecutorConfig), section('Courier', CourierConfig)].join('\n\n')}\n`;

test('docs/config.md is what the code reads', () => {
  expect(committedDoc('config.md', text)).toBe(text);
});

test('every variable is described, and a secret has no default', () => {
  for (const schema of [GatewayConfigSchema, ExecutorConfig, CourierConfig]) {
    for (const one of describeConfig(schema)) {
      expect([one.variable, one.description.length > 10]).toEqual([one.variable, true]);
      if (one.secret) expect([one.variable, one.default]).toEqual([one.variable, undefined]);
    }
  }
});
