import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type LanguageInput } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

/** Languages that answers of a workbench contain; each is its own small download. */
const languages: Record<string, () => Promise<unknown>> = {
  python: () => import('shiki/langs/python.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
  bash: () => import('shiki/langs/bash.mjs'),
  r: () => import('shiki/langs/r.mjs'),
};
const aliases: Record<string, string> = {
  py: 'python',
  js: 'javascript',
  ts: 'typescript',
  sh: 'bash',
  shell: 'bash',
  yml: 'yaml',
};
/** Lines coloured in one go; more are done in slices so that no task gets long. */
const sliceLines = 150;

let highlighter: Promise<HighlighterCore> | undefined;

function load(): Promise<HighlighterCore> {
  highlighter ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: 'moli' })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  return highlighter;
}

/** Code as spans with `tok-…` classes (the content policy refuses inline colours), or null for an unknown language. */
export async function highlight(code: string, language: string): Promise<DocumentFragment | null> {
  const name = aliases[language.toLowerCase()] ?? language.toLowerCase();
  const source = languages[name];
  if (!source) return null;
  const shiki = await load();
  if (!shiki.getLoadedLanguages().includes(name)) await shiki.loadLanguage(source as LanguageInput);
  const result = document.createDocumentFragment();
  const lines = code.split('\n');
  let grammarState: ReturnType<typeof shiki.getLastGrammarState> | undefined;
  for (let start = 0; start < lines.length; start += sliceLines) {
    if (start > 0) await new Promise((resolve) => setTimeout(resolve));
    const text = lines.slice(start, start + sliceLines).join('\n');
    const options = { lang: name, theme: 'moli', grammarState };
    const tokens = shiki.codeToTokensBase(text, options);
    for (const [index, line] of tokens.entries()) {
      if (start + index > 0) result.append('\n');
      for (const token of line) {
        const span = document.createElement('span');
        const kind = /token-([\w-]+)/.exec(token.color ?? '')?.[1];
        if (kind) span.className = `tok-${kind}`;
        span.textContent = token.content;
        result.append(span);
      }
    }
    if (start + sliceLines < lines.length) grammarState = shiki.getLastGrammarState(text, options);
  }
  return result;
}
