import { describe, expect, it } from 'vitest';
import { createMarkdown } from './markdown.ts';
import { createSplitter } from './splitter.ts';

/** Everything that changes its meaning by what comes after it. */
const hostile = `# 标题 one
Setext
===

1. a

2. b

   inside
- x
  - y

      indented

> quote
> > nested
lazy

| a | b |
|---|--:|
| 1 | **2** |
| \`x|y\` | $z$ |

\`\`\`python
for i in range(3):

    print("#", i)
\`\`\`

~~~
open
~~~
text with *star and _under and [link](https://example.com/a_b) and \`code

$$
a^2

b
$$

\\[ x_1 + x_2 \\]

* * *
- [ ] task
+ plus
    code

![pic](sandbox:/mnt/data/a.png) <b>raw</b> &amp; 5 < 6
最后一行没有换行`;

const identity = (text: string) => text;

describe('createSplitter', () => {
  const md = createMarkdown();

  it('equals one full rendering after each character of a hostile text', () => {
    const split = createSplitter({ md, clean: identity, repair: identity });
    for (let end = 1; end <= hostile.length; end++) {
      const text = hostile.slice(0, end);
      const { blocks, tail } = split(text);
      const pieces = blocks.map((block) => block.html).join('') + tail;
      expect(pieces, `after ${JSON.stringify(text.slice(-40))}`).toBe(md.render(text));
    }
  });

  it('equals one full rendering when the text comes in pieces of any size', () => {
    const whole = md.render(hostile);
    for (const size of [2, 3, 7, 31, 200]) {
      const split = createSplitter({ md, clean: identity, repair: identity });
      let last = split('');
      for (let end = size; end < hostile.length + size; end += size) last = split(hostile.slice(0, end));
      expect(last.blocks.map((block) => block.html).join('') + last.tail).toBe(whole);
    }
  });

  it('never changes a closed block, and closes blocks while text arrives', () => {
    const split = createSplitter({ md, clean: identity, repair: identity });
    let closed: readonly { html: string }[] = [];
    for (let end = 1; end <= hostile.length; end++) {
      const { blocks } = split(hostile.slice(0, end));
      expect(blocks.slice(0, closed.length)).toEqual(closed);
      closed = blocks;
    }
    expect(closed.length).toBeGreaterThan(10);
  });
});
