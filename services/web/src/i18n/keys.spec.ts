import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { en } from './en.ts';
import { zh } from './zh.ts';

type Tree = { readonly [key: string]: string | Tree };

function flatten(tree: Tree, prefix = ''): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === 'string') found.set(prefix + key, value);
    else for (const [inner, text] of flatten(value, `${prefix}${key}.`)) found.set(inner, text);
  }
  return found;
}

const chinese = flatten(zh);
const english = flatten(en);
const root = join(import.meta.dirname, '..');

/** Keys of the sources: those that are asked for, and every text that looks like one. A part known only at run time makes a pattern. */
function usedKeys() {
  const asked = new Set<string>();
  const named = new Set<string>();
  const patterns: RegExp[] = [];
  const isSource = (name: string) => /\.(vue|ts)$/.test(name) && !/\.spec\.ts$|^i18n\/(zh|en)\.ts$/.test(name);
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isSource)) {
    const text = readFileSync(join(root, name), 'utf8');
    for (const [, key] of text.matchAll(/\bt\('([^']+)'/g)) asked.add(key!);
    for (const [key] of text.matchAll(/(?<=')[a-z]\w*(?:\.[\w-]+)+(?=')/g)) named.add(key);
    for (const [, template] of text.matchAll(/\bt\(\s*`([^`]*)`/g)) {
      patterns.push(new RegExp(`^${template!.replaceAll('.', '\\.').replaceAll(/\$\{.*?\}/g, '[\\w-]+')}$`));
    }
  }
  return { asked, named, patterns };
}

describe('words of the interface', () => {
  const { asked, named, patterns } = usedKeys();

  it('has the same keys in both languages, none of them empty', () => {
    expect([...english.keys()].sort()).toEqual([...chinese.keys()].sort());
    for (const texts of [chinese, english])
      for (const [key, text] of texts) expect(text.trim() || key === 'list.separator', key).toBeTruthy();
  });

  it('has every key that the page asks for', () => {
    expect(asked.size).toBeGreaterThan(150);
    expect([...asked].filter((key) => !chinese.has(key))).toEqual([]);
    for (const pattern of patterns) {
      expect(
        [...chinese.keys()].some((key) => pattern.test(key)),
        String(pattern),
      ).toBe(true);
    }
  });

  it('has no key that nothing uses', () => {
    const isUsed = (key: string) => asked.has(key) || named.has(key) || patterns.some((pattern) => pattern.test(key));
    expect([...chinese.keys()].filter((key) => !isUsed(key))).toEqual([]);
  });

  it('names the same values in both languages', () => {
    const values = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();
    for (const [key, text] of chinese) {
      // The English singular may leave the number out.
      expect(values(english.get(key)!), key).toEqual(values(text));
    }
  });
});
