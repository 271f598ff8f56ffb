import type { MarkdownIt } from 'markdown-it';

/** Formulas in `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. They leave as plain text in a `.math` element, which KaTeX fills when it has arrived. */
export function mathPlugin(md: MarkdownIt): void {
  md.inline.ruler.before('escape', 'math_inline', (state, silent) => {
    const found = matchInline(state.src, state.pos, state.posMax);
    if (!found) return false;
    if (!silent) {
      const token = state.push('math_inline', '', 0);
      token.content = found.tex;
      token.markup = found.display ? 'display' : 'inline';
    }
    state.pos = found.end;
    return true;
  });
  md.block.ruler.before(
    'fence',
    'math_block',
    (state, startLine, endLine, silent) => {
      const first = state.src
        .slice(state.bMarks[startLine]! + state.tShift[startLine]!, state.eMarks[startLine])
        .trimEnd();
      const close = first.startsWith('$$') ? '$$' : first.startsWith('\\[') ? '\\]' : '';
      if (!close || state.sCount[startLine]! - state.blkIndent >= 4) return false;
      let line = startLine;
      let text = first.slice(2);
      const lines: string[] = [];
      for (;;) {
        const at = text.indexOf(close);
        if (at >= 0) {
          if (text.slice(at + 2).trim()) return false;
          lines.push(text.slice(0, at));
          break;
        }
        lines.push(text);
        line += 1;
        if (line >= endLine || state.sCount[line]! < state.blkIndent) return false;
        text = state.src.slice(
          state.bMarks[line]! + Math.min(state.tShift[line]!, state.blkIndent),
          state.eMarks[line],
        );
        if (!text.trim()) return false;
      }
      if (silent) return true;
      const token = state.push('math_block', '', 0);
      token.block = true;
      token.content = lines.join('\n').trim();
      token.map = [startLine, line + 1];
      state.line = line + 1;
      return true;
    },
    { alt: ['paragraph', 'reference', 'blockquote', 'list'] },
  );
  const escapeHtml = md.utils.escapeHtml;
  md.renderer.rules.math_inline = (tokens, index) => {
    const token = tokens[index]!;
    const kind = token.markup === 'display' ? 'math math-block' : 'math';
    return `<span class="${kind}">${escapeHtml(token.content)}</span>`;
  };
  md.renderer.rules.math_block = (tokens, index) =>
    `<div class="math math-block">${escapeHtml(tokens[index]!.content)}</div>\n`;
}

/** The formula that starts at `pos`. Money is no formula: "$5 and $6" has a blank before the closing sign or a digit after it. */
export function matchInline(
  src: string,
  pos: number,
  max: number,
): { tex: string; end: number; display: boolean } | null {
  if (src.startsWith('\\(', pos) || src.startsWith('\\[', pos)) {
    const close = src[pos + 1] === '(' ? '\\)' : '\\]';
    const end = src.indexOf(close, pos + 2);
    if (end < 0 || end + 2 > max || end === pos + 2) return null;
    return { tex: src.slice(pos + 2, end).trim(), end: end + 2, display: close === '\\]' };
  }
  if (src[pos] !== '$') return null;
  if (src[pos + 1] === '$') {
    const end = src.indexOf('$$', pos + 2);
    if (end <= pos + 2 || end + 2 > max) return null;
    return { tex: src.slice(pos + 2, end).trim(), end: end + 2, display: true };
  }
  const end = src.indexOf('$', pos + 1);
  if (end < 0 || end >= max || end === pos + 1) return null;
  const before = src[end - 1]!;
  if (/\s/.test(src[pos + 1]!) || /\s/.test(before) || before === '\\' || /\d/.test(src[end + 1] ?? '')) return null;
  return { tex: src.slice(pos + 1, end), end: end + 1, display: false };
}
