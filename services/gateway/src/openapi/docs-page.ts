import type { OpenAPIObject } from '@nestjs/swagger';

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema?: object }[];
  readonly requestBody?: { content?: Record<string, { schema?: object }> };
  readonly responses?: Record<string, { description?: string; content?: Record<string, { schema?: object }> }>;
}

const htmlText = (text: string): string =>
  text.replaceAll(
    /[&<>"']/g,
    (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[sign] ?? sign,
  );

function schemaText(schema: object | undefined): string {
  if (!schema) return '';
  const ref = (schema as { $ref?: string }).$ref;
  if (ref) {
    const name = htmlText(ref.split('/').at(-1) ?? '');
    return `<a href="#schema-${name}">${name}</a>`;
  }
  return `<pre>${htmlText(JSON.stringify(schema, null, 2))}</pre>`;
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const parameters = (operation.parameters ?? [])
    .map(
      (one) =>
        `<tr><td><code>${htmlText(one.name)}</code></td><td>${htmlText(one.in)}${one.required ? ', required' : ''}</td></tr>`,
    )
    .join('');
  const bodies = Object.entries(operation.requestBody?.content ?? {}).map(
    ([type, { schema }]) => `<h4>Body <small>${htmlText(type)}</small></h4>${schemaText(schema)}`,
  );
  const answers = Object.entries(operation.responses ?? {}).flatMap(([status, answer]) =>
    Object.entries(answer.content ?? { '': {} }).map(
      ([type, { schema }]) =>
        `<tr><td>${htmlText(status)}</td><td>${htmlText(answer.description ?? '')} <small>${htmlText(type)}</small> ${schemaText(schema)}</td></tr>`,
    ),
  );
  const open = operation.security?.length === 0 ? ' <small>no credentials</small>' : '';
  return `<details id="${htmlText(operation.operationId ?? '')}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${htmlText(path)}</code> ${htmlText(operation.summary ?? '')}${open}</summary>
${parameters ? `<h4>Parameters</h4><table>${parameters}</table>` : ''}${bodies.join('')}<h4>Answers</h4><table>${answers.join('')}</table></details>`;
}

/** The document as one readable page: no script, styles from a file of ours, so that it passes the strictest content policy. */
export function docsPage(document: OpenAPIObject): string {
  const groups = new Map<string, string[]>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item as Record<string, Operation>)) {
      const tag =
        operation.tags?.[0] ??
        path.split('/').find((part) => part !== '' && part !== 'v1' && part !== 'api') ??
        'other';
      groups.set(tag, [...(groups.get(tag) ?? []), operationHtml(method, path, operation)]);
    }
  }
  const sections = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([tag, items]) => `<h2>${htmlText(tag)}</h2>${items.join('\n')}`);
  const schemas = Object.entries(document.components?.schemas ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, schema]) =>
        `<details id="schema-${htmlText(name)}"><summary><code>${htmlText(name)}</code></summary>${schemaText(schema)}</details>`,
    );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Moli API</title><link rel="stylesheet" href="/docs/style.css"></head><body><main>
<h1>Moli API <small>${htmlText(document.info.version)}</small></h1>
<p>${htmlText(document.info.description ?? '')} The same as <a href="/openapi.json">OpenAPI 3.1</a>. Programs send <code>Authorization: Bearer moli_…</code>; every failure is a <a href="#schema-Problem">Problem</a>.</p>
${sections.join('\n')}
<h2>Schemas</h2>
${schemas.join('\n')}
</main></body></html>`;
}

export const DOCS_STYLE = `:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}
body{font:15px/1.5 system-ui,sans-serif;margin:0}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h2{margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
h4{margin:.75rem 0 .25rem}
details{border:1px solid var(--line);border-radius:6px;margin:.4rem 0;padding:.35rem .75rem}
summary{cursor:pointer;overflow-wrap:anywhere}
pre{overflow:auto;max-height:30rem;background:color-mix(in srgb,currentColor 6%,transparent);padding:.5rem;border-radius:4px}
table{border-collapse:collapse;width:100%}
td{border-top:1px solid var(--line);padding:.25rem .5rem;vertical-align:top}
small{opacity:.7}
summary b{display:inline-block;min-width:4rem;font-family:ui-monospace,monospace}
`;
