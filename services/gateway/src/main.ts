import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { ConfigError } from '@moli/config';
import { AppError, type Locale } from '@moli/errors';
import { configureLog, log, withoutSecrets } from '@moli/telemetry';
import { terminalLocale, UsageError } from './commands/arguments.ts';
import { runCommand } from './commands/commands.ts';
import { SelftestFailure } from './commands/selftest/failure.ts';
import { readGatewayConfig } from './config.ts';
import { serve } from './serve.ts';

/** Exit codes: 1 failed, 2 wrong usage or configuration. */
function explain(error: unknown, locale: Locale): { text: string; code: number } {
  if (error instanceof UsageError || error instanceof ConfigError) return { text: error.detail[locale], code: 2 };
  // Read in the log of a Pod, whose language says nothing of its reader.
  if (error instanceof SelftestFailure) return { text: `✗ ${error.detail.zh}\n✗ ${error.detail.en}`, code: 1 };
  if (error instanceof AppError) return { text: error.detail[locale], code: 1 };
  const message = withoutSecrets(error instanceof Error ? error.message : String(error));
  return { text: locale === 'zh' ? `失败：${message}` : `Failed: ${message}`, code: 1 };
}

// Garbage of many streams is collected when the heap has grown by 70 %, not when it has become four times as large: 420 MB under 500 streams instead of
// 660, and no slower.
setFlagsFromString('--heap-growing-percent=70');

const [, , ...argv] = process.argv;
try {
  if (argv.length > 0) {
    await runCommand(argv);
    process.exit(0);
  }
  const config = readGatewayConfig(process.env);
  configureLog({ service: 'gateway', level: config.logLevel });
  await serve(config);
} catch (error) {
  const { text, code } = explain(error, terminalLocale(process.env));
  if (argv.length === 0) log.error('the gateway did not start', { error });
  process.stderr.write(`${text}\n`);
  process.exit(code);
}
