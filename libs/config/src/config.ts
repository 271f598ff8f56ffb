import * as z from 'zod';

/** Environment as `process.env` gives it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A value that stops the start. The message names the variable, never its value: it may be a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly variables: readonly string[];
  readonly detail: Readonly<Record<'zh' | 'en', string>>;

  constructor(faults: readonly { variable: string; zh: string; en: string }[]) {
    super(faults.map((fault) => `${fault.variable}: ${fault.en}`).join('; '));
    this.variables = faults.map((fault) => fault.variable);
    this.detail = {
      zh: `配置有误：${faults.map((fault) => `${fault.variable} ${fault.zh}`).join('；')}。`,
      en: `The configuration is not right: ${faults.map((fault) => `${fault.variable} ${fault.en}`).join('; ')}.`,
    };
  }
}

/** What a field of a configuration may say about itself with `.meta({ … })`. */
export interface FieldMeta {
  readonly description?: string;
  /** Older or foreign names of the variable; our own name wins. */
  readonly aliases?: readonly string[];
  /** Never printed, not even its default. */
  readonly secret?: boolean;
}

/** `publicUrl` is read from `MOLI_PUBLIC_URL`. */
export function variableOf(field: string): string {
  return `MOLI_${field.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

function metaOf(field: unknown): FieldMeta {
  return ((field as z.ZodType).meta() as FieldMeta | undefined) ?? {};
}

/**
 * Reads a service's configuration once: one zod object, keys in camelCase, each from its `MOLI_…` variable. An empty variable counts as absent.
 * The result is frozen. Throws ConfigError that names every bad variable.
 */
export function readConfig<S extends z.ZodObject>(schema: S, env: Environment): Readonly<z.output<S>> {
  const input: Record<string, string> = {};
  for (const [field, type] of Object.entries(schema.shape)) {
    const names = [variableOf(field), ...(metaOf(type).aliases ?? [])];
    const value = names.map((name) => env[name]).find((text) => text !== undefined && text.trim() !== '');
    if (value !== undefined) input[field] = value.trim();
  }
  const parsed = schema.safeParse(input);
  if (parsed.success) return Object.freeze(parsed.data);
  throw new ConfigError(
    parsed.error.issues.map((issue) => {
      const field = String(issue.path[0] ?? '');
      return field in input
        ? {
            variable: variableOf(field),
            zh: `的值不可用（${issue.message}）`,
            en: `has a value that cannot be used (${issue.message})`,
          }
        : { variable: variableOf(field), zh: '没有设置', en: 'is not set' };
    }),
  );
}

/** One row of `docs/config.md`. */
export interface ConfigRow {
  readonly variable: string;
  readonly description: string;
  readonly required: boolean;
  /** Default as it would be written in the environment; undefined when there is none. */
  readonly default: string | undefined;
  readonly aliases: readonly string[];
  readonly secret: boolean;
}

/** Every variable of a configuration with its meaning, in the order of the object. */
export function describeConfig(schema: z.ZodObject): ConfigRow[] {
  return Object.entries(schema.shape).map(([field, type]) => {
    const meta = metaOf(type);
    const absent = (type as z.ZodType).safeParse(undefined);
    const fallback = absent.success ? absent.data : undefined;
    return {
      variable: variableOf(field),
      description: meta.description ?? '',
      required: !absent.success,
      default: fallback === undefined ? undefined : asWritten(fallback),
      aliases: meta.aliases ?? [],
      secret: meta.secret ?? false,
    };
  });
}

function asWritten(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Comma-separated words; blanks around them and empty ones are dropped. */
export const wordList = z
  .string()
  .transform((text) => text.split(',').map((word) => word.trim()))
  .transform((words) => words.filter((word) => word !== ''));

/** `true/false`, `1/0`, `yes/no`, `on/off`. */
export const flag = z.stringbool();

/** A whole number within bounds, written in digits. */
export function integer(min: number, max: number): z.ZodType<number, string> {
  return z
    .string()
    .regex(/^\d{1,15}$/, 'not a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `not between ${min} and ${max}`) as unknown as z.ZodType<
    number,
    string
  >;
}
