import type { MarkdownIt } from 'markdown-it';

export interface Block {
  readonly id: number;
  readonly html: string;
}

export interface Split {
  /** Finished blocks; they never change again. */
  readonly blocks: readonly Block[];
  /** HTML of the open end. */
  readonly tail: string;
}

interface SplitterOptions {
  readonly md: MarkdownIt;
  readonly clean: (html: string) => string;
  /** Closes what is half-written at the end of the text (bold, code, links). */
  readonly repair: (text: string) => string;
  /** Top-level blocks that stay open: "1. a\n\n2" is a list and a paragraph until ". " arrives. */
  readonly keep?: number;
}

/**
 * Renders a growing text without rendering its beginning again: top-level blocks are closed once two more follow.
 * Blocks plus tail equal one full rendering after each character, link definitions after their use aside.
 * The text must only grow between calls and have LF line ends.
 */
export function createSplitter({ md, clean, repair, keep = 2 }: SplitterOptions): (text: string) => Split {
  let done = 0;
  let blocks: readonly Block[] = [];
  const env = {};
  return (text) => {
    const rest = text.slice(done);
    const tops = md
      .parse(rest, env)
      .filter((token) => token.level === 0 && token.map && token.nesting >= 0)
      .map((token) => token.map!);
    if (tops.length > keep) {
      const lines = rest.split('\n');
      const more: Block[] = [];
      let start = 0;
      let line = 0;
      for (let k = 0; k < tops.length - keep; k++) {
        let length = 0;
        while (line < tops[k + 1]![0]) length += lines[line++]!.length + 1;
        more.push({ id: blocks.length + k, html: clean(md.render(rest.slice(start, start + length), env)) });
        start += length;
      }
      done += start;
      blocks = blocks.concat(more);
    }
    return { blocks, tail: clean(md.render(repair(text.slice(done)), env)) };
  };
}
