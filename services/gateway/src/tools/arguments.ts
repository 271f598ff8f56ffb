import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { exactDigits, parseExact } from '../models/exact-json.ts';
import { type ArgumentFault, missing, type Words, wordsOf } from './argument-faults.ts';
import { isObject, readArgumentsText } from './arguments-text.ts';
import type { ToolDefinition } from './tool.types.ts';

type Arguments = Record<string, unknown>;
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly format?: string;
}

export type CheckedArguments = { readonly value: Arguments } | { readonly faults: readonly ArgumentFault[] };

/** So many faults are named: enough to see what is wrong with the call. */
const FAULTS_NAMED = 10;

const LOSSY: Words = {
  zh: '是过大的整数，传来时已不精确：请以文本形式发送',
  en: 'is a whole number too large to arrive exactly: send it as text',
};
const NUL: Words = { zh: '不能含有 NUL 字符', en: 'must not contain a NUL character' };

/** What names a place or an order is taken as it is or refused: a repaired path is another path. */
const NEVER_COERCED = /(^|_)(path|url|uri|command|cmd|host)s?$/i;

const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, validateFormats: false });
const validators = new WeakMap<object, ValidateFunction>();

/**
 * Arguments as the handler may use them, or each fault with its place. Repaired is only the shape (a number in a string, an object as
 * JSON text, null for an optional field, a field that the tool does not have); never the meaning.
 */
export function checkArguments(
  raw: string | object,
  tool: Pick<ToolDefinition, 'parameters' | 'codeArgument'>,
): CheckedArguments {
  const read = readArgumentsText(raw, tool.codeArgument);
  if ('fault' in read) return { faults: [{ path: '', words: read.fault }] };
  const schema = tool.parameters as Schema;
  const lossy = typeof raw === 'string' ? undefined : pathOfLossy(read.value, schema);
  if (lossy !== undefined) return { faults: [{ path: lossy, words: LOSSY }] };
  const value = repairObject(read.value, schema);
  const nul = pathOfNul(value);
  if (nul !== undefined) return { faults: [{ path: nul, words: NUL }] };
  const validate = validatorOf(schema);
  // Numbers that kept their digits are objects to Ajv: it sees their nearest double.
  const shadow = shadowOf(value) as Arguments;
  if (!validate(shadow)) return { faults: faultsOf(validate.errors ?? [], schema) };
  for (const [key, filled] of Object.entries(shadow)) if (!(key in value)) value[key] = filled;
  return { value };
}

function validatorOf(schema: Schema): ValidateFunction {
  const known = validators.get(schema);
  if (known) return known;
  const made = ajv.compile(schema as object);
  validators.set(schema, made);
  return made;
}

function repairObject(given: Arguments, schema: Schema): Arguments {
  const fixed: Arguments = {};
  const properties = schema.properties ?? {};
  for (const [key, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (!property) {
      if (schema.additionalProperties === true || typeof schema.additionalProperties === 'object') fixed[key] = value;
      continue;
    }
    if (value === null && property.type !== 'null') continue;
    fixed[key] = repair(value, property, NEVER_COERCED.test(key));
  }
  return fixed;
}

function repair(value: unknown, schema: Schema, asIs: boolean): unknown {
  switch (schema.type) {
    case 'integer':
    case 'number':
      return typeof value === 'string' && !asIs ? numberOf(value) : value;
    case 'boolean':
      return value === 'true' || value === 'false' ? value === 'true' : value;
    case 'string':
      if (asIs) return value;
      if (typeof value === 'number' || typeof value === 'boolean') return String(value);
      return exactDigits(value) ?? value;
    case 'array':
      return repairArray(value, schema, asIs);
    case 'object': {
      const object = typeof value === 'string' ? parsedAs(value, isObject) : value;
      return isObject(object) && exactDigits(object) === undefined ? repairObject(object, schema) : object;
    }
    default:
      return value;
  }
}

function repairArray(value: unknown, schema: Schema, asIs: boolean): unknown {
  let list = value;
  if (typeof value === 'string') {
    list = parsedAs(value, Array.isArray);
    // One thing where a list of such things is asked for.
    if (list === value && !asIs && schema.items?.type === 'string' && !/^\s*[[{]/.test(value)) list = [value];
  }
  return Array.isArray(list) && schema.items ? list.map((item) => repair(item, schema.items!, asIs)) : list;
}

/** A number in a string, whole and plain; `1e3`, `0x10` and `1,000` stay text, for they have more than one reading. */
function numberOf(text: string): unknown {
  const plain = text.trim();
  return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(plain) ? parseExact(plain) : text;
}

function parsedAs(text: string, wanted: (value: unknown) => boolean): unknown {
  try {
    const value = parseExact(text);
    return wanted(value) ? value : text;
  } catch {
    return text;
  }
}

function shadowOf(value: unknown): unknown {
  const digits = exactDigits(value);
  if (digits !== undefined) return Number(digits);
  if (Array.isArray(value)) return value.map(shadowOf);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shadowOf(inner)]));
  return value;
}

function pathOfNul(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return value.includes('\u0000') ? path : undefined;
  if (value === null || typeof value !== 'object') return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = pathOfNul(inner, `${path}/${pointer(key)}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An object that a plain JSON parser made has lost digits above 2^53: no one can say which number was meant. */
function pathOfLossy(given: Arguments, { properties = {} }: Schema): string | undefined {
  const lossy = (value: unknown): boolean =>
    typeof value === 'number'
      ? Number.isInteger(value) && !Number.isSafeInteger(value)
      : value !== null && typeof value === 'object' && Object.values(value).some(lossy);
  const key = Object.keys(properties).find((name) => Object.hasOwn(given, name) && lossy(given[name]));
  return key === undefined ? undefined : `/${pointer(key)}`;
}

const pointer = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

function faultsOf(errors: readonly ErrorObject[], schema: Schema): ArgumentFault[] {
  return errors.slice(0, FAULTS_NAMED).map((error) => {
    if (error.keyword !== 'required') return { path: error.instancePath, words: wordsOf(error) };
    const name = String(error.params.missingProperty);
    const type = error.instancePath === '' ? schema.properties?.[name]?.type : undefined;
    return { path: `${error.instancePath}/${pointer(name)}`, words: missing(type) };
  });
}
