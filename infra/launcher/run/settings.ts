import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { type DataFolder, ROOT } from '../paths.ts';
import type { Text } from '../words.ts';

export type Settings = Readonly<Record<string, string | undefined>>;

const MODEL = [
  ['MOLI_MODEL_BASE_URL', 'api_base'],
  ['MOLI_MODEL_API_KEY', 'api_key'],
  ['MOLI_MODEL_NAME', 'model_name'],
] as const;

/** What was configured: the environment before `.env` of the data folder before `.env` beside the launcher. */
export function readSettings(folder: DataFolder, env: Settings = process.env): Settings {
  const files = [join(ROOT, '.env'), folder.env].filter(existsSync).map((path) => parseEnv(readFileSync(path, 'utf8')));
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  return { ...files[0], ...files[1], ...given };
}

/** The values of the settings that a service may see: Moli's own, by name, and those of the machine that programs rely on. */
export function pick(settings: Settings, names: (name: string) => boolean): Record<string, string> {
  const machine = new Set([
    'PATH',
    'HOME',
    'LANG',
    'LC_ALL',
    'TZ',
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
  ]);
  const chosen = Object.entries(settings).filter(([name]) => machine.has(name) || names(name));
  return Object.fromEntries(chosen.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

export const isModelName = (name: string): boolean => MODEL.some((pair) => (pair as readonly string[]).includes(name));

/**
 * What to tell about the model: nothing when it is complete. `stored`: whether one was entered in the workbench; undefined when nobody looked.
 */
export function modelAdvice(settings: Settings, stored?: boolean): Text | undefined {
  const missing = MODEL.filter((names) => !names.some((name) => settings[name]?.trim())).map(([name]) => name);
  if (missing.length === 0) return undefined;
  if (missing.length === MODEL.length) {
    if (stored) return undefined;
    if (stored === undefined)
      return {
        zh: '环境和 .env 里没有模型；工作台里配置的模型照常使用，没有时会请你填写。',
        en: 'No model in the environment or .env. The one entered in the workbench is used; it asks when there is none.',
      };
    return {
      zh: '还没有配置模型：打开工作台后会请你填写，或写入 .env（MOLI_MODEL_BASE_URL、MOLI_MODEL_API_KEY、MOLI_MODEL_NAME）。',
      en: 'No model is configured: the workbench asks for one, or put MOLI_MODEL_BASE_URL, MOLI_MODEL_API_KEY and MOLI_MODEL_NAME into .env.',
    };
  }
  return {
    zh: `模型配置不完整，缺少 ${missing.join('、')}（写入 .env 或环境变量）。`,
    en: `The model is not complete: ${missing.join(', ')} missing (in .env or the environment).`,
  };
}
