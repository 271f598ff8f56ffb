import DOMPurify from 'dompurify';
import MarkdownItClass, { type MarkdownIt } from 'markdown-it';
import remend from 'remend';
import { mathPlugin } from './math.ts';
import { createSplitter, type Split } from './splitter.ts';

/** Shortest run of base64 after "data:image" that is taken out of running text, in characters. */
const longData = /data:image\/[\w.+-]+;base64,[A-Za-z0-9+/=]{120,}/g;

export function createMarkdown(): MarkdownIt {
  const md = new MarkdownItClass({ html: false, linkify: true, breaks: false });
  md.use(mathPlugin);
  md.validateLink = (url) =>
    /^(https?:|mailto:|sandbox:|#|\/(?!\/)|data:image\/(png|jpeg|gif|webp);base64,)/i.test(url.trim());
  // The content policy refuses style attributes; alignment becomes a class.
  md.core.ruler.push('align', (state) => {
    for (const token of state.tokens) {
      const style = token.attrGet('style');
      if (!style) continue;
      token.attrs = token.attrs!.filter(([name]) => name !== 'style');
      token.attrJoin('class', `a-${String(style).split(':')[1]}`);
    }
  });
  // A picture as base64 in the middle of a sentence is noise for people.
  md.core.ruler.push('long_data', (state) => {
    for (const token of state.tokens) {
      for (const child of token.children ?? []) {
        if (child.type === 'text') child.content = child.content.replace(longData, 'data:image…');
      }
    }
  });
  md.renderer.rules.table_open = () => '<div class="table-wrap" tabindex="0"><table>\n';
  md.renderer.rules.table_close = () => '</table></div>\n';
  md.renderer.rules.link_open = (tokens, index, options, _env, self) => {
    const token = tokens[index]!;
    const href = String(token.attrGet('href') ?? '');
    const artifact = artifactName(href);
    if (artifact !== null) {
      token.attrSet('href', '#');
      token.attrSet('data-artifact', artifact);
    } else if (/^https?:/i.test(href)) {
      token.attrSet('target', '_blank');
      token.attrSet('rel', 'noopener noreferrer');
    }
    return self.renderToken(tokens, index, options);
  };
  md.renderer.rules.image = (tokens, index) => {
    const token = tokens[index]!;
    const source = String(token.attrGet('src') ?? '');
    const escapeHtml = md.utils.escapeHtml;
    const words = escapeHtml(token.content || fileName(source) || source);
    if (/^data:image\//i.test(source)) return `<img src="${escapeHtml(source)}" alt="${words}">`;
    // Pictures of other servers are not fetched for the reader; pictures of runs stand as figures below their run.
    const artifact = artifactName(source);
    if (artifact !== null) return `<a href="#" data-artifact="${escapeHtml(artifact)}">${words}</a>`;
    return `<a href="${escapeHtml(source)}" target="_blank" rel="noopener noreferrer">${words}</a>`;
  };
  md.renderer.rules.fence = (tokens, index) => {
    const token = tokens[index]!;
    const language = token.info.trim().split(/\s+/)[0] ?? '';
    const escapeHtml = md.utils.escapeHtml;
    return `<div class="fence"><pre class="code" tabindex="0"><code data-lang="${escapeHtml(language)}">${escapeHtml(token.content)}</code></pre></div>\n`;
  };
  md.renderer.rules.code_block = md.renderer.rules.fence;
  return md;
}

/** "sandbox:/mnt/data/trend.png" → "trend.png": models name the files of their runs so. Null for other addresses. */
export function artifactName(href: string): string | null {
  const path = /^sandbox:(?:\/\/)?(.*)$/i.exec(href)?.[1] ?? /^(\/mnt\/data\/.+)$/.exec(href)?.[1];
  return path ? fileName(path) : null;
}

function fileName(path: string): string {
  const name = path.split(/[/?#]/).filter(Boolean).at(-1) ?? '';
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** HTML that may stand in our page: no styles, no forms, no frames, links only to known places. */
export function cleanHtml(html: string): string {
  return DOMPurify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['style', 'form', 'input', 'button', 'textarea', 'select', 'video', 'audio', 'source'],
    FORBID_ATTR: ['style', 'id', 'name'],
    ADD_ATTR: ['target'],
  });
}

/** Line ends as the renderer needs them. */
export const withLf = (text: string) => text.replace(/\r\n?/g, '\n');

const repair = (text: string) =>
  remend(text, { linkMode: 'text-only', singleTilde: false, comparisonOperators: false });

let md: MarkdownIt | undefined;
const renderer = () => (md ??= createMarkdown());

/** A finished text in one rendering. */
export function renderMarkdown(text: string): string {
  return cleanHtml(renderer().render(withLf(text), {}));
}

/** A renderer for one growing text. */
export function createStreamRenderer(): (text: string) => Split {
  const split = createSplitter({ md: renderer(), clean: cleanHtml, repair });
  return (text) => split(withLf(text));
}
