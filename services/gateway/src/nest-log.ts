import { type LogLevel, log } from '@moli/telemetry';
import type { LoggerService } from '@nestjs/common';

/** Nest's own lines in our shape. Its chatter of the start (one line a route) is `debug`. */
export class NestLog implements LoggerService {
  log(message: unknown, ...rest: unknown[]): void {
    this.#write('debug', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.#write('warn', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.#write('error', message, rest);
  }

  #write(level: LogLevel, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const fields = typeof context === 'string' ? { context } : {};
    if (message instanceof Error) log[level]('nest', { ...fields, error: message });
    else log[level]('nest', { ...fields, detail: String(message) });
  }
}
