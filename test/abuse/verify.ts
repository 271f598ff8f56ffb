import { expect } from 'vitest';
import type { Variant } from './expectation.ts';
import type { Outcome } from './oracle.ts';

/** Holds a result to the words of its variant. */
export function verify(variant: Variant, { result, contents }: Outcome): void {
  const said = `${result.verdict} ${result.error?.message ?? ''}\n${result.stdout.slice(-500)}\n${result.stderr.slice(-1_000)}`;
  expect([variant.verdict ?? 'ok'].flat(), said).toContain(result.verdict);
  if (variant.error) expect(result.error?.name, said).toBe(variant.error);
  if (variant.signal) expect(variant.signal, said).toContain(result.signal);
  holdText('stdout', result.stdout, variant.stdout);
  holdText('stderr', result.stderr, variant.stderr);
  if (variant.answers) holdAnswers(result.stdout, variant.answers);
  if (variant.truncated) expect(result.truncated).toEqual(variant.truncated);
  if (variant.bytes !== undefined) {
    const raw = result.raw?.stdout;
    expect((raw === undefined ? Buffer.from(result.stdout) : Buffer.from(raw, 'base64')).toString('hex')).toBe(
      variant.bytes,
    );
  }
  holdFiles(variant, { result, contents });
  if (variant.result) expect(result).toMatchObject(variant.result);
}

function holdText(name: string, text: string, wanted: string | RegExp | undefined): void {
  if (typeof wanted === 'string') expect(text, name).toBe(wanted);
  if (wanted instanceof RegExp) expect(text, name).toMatch(wanted);
}

function holdAnswers(stdout: string, allowed: readonly (string | null)[]): void {
  const answers = Object.entries(JSON.parse(stdout) as Record<string, string | null>);
  expect(answers.length).toBeGreaterThan(0);
  expect(answers.filter(([, answer]) => !allowed.includes(answer))).toEqual([]);
}

function holdFiles(variant: Variant, { result, contents }: Outcome): void {
  const names = result.artifacts.map(({ name }) => name).sort();
  const loose = variant.contents !== undefined && variant.artifacts === undefined;
  if (variant.artifacts) expect(names).toEqual([...variant.artifacts].sort());
  else if (result.verdict === 'ok' && !loose && !('artifacts' in variant)) expect(names).toEqual([]);
  for (const [name, content] of Object.entries(variant.contents ?? {})) {
    expect(contents[name]?.toString(), name).toBe(content);
  }
  for (const [name, reason] of Object.entries(variant.skipped ?? {})) {
    expect(result.skipped.find((item) => item.name === name)?.reason ?? 'not skipped', name).toContain(reason);
  }
}
