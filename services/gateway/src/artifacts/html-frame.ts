import { PassThrough, pipeline } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import type { ContentOptions } from '../objects/content.ts';

/**
 * Goes before a page that a run made when the workbench frames it. The page has an origin of its own, so that nobody outside can measure
 * it: the script tells the frame's owner how high the content is, and nothing else. The doctype makes that measurable; without one a page
 * is as high as its window. `least` keeps what hangs out of the flow, which no longer counts once the window has grown to it.
 * A page that scrolls becomes a stop of Tab, so that keys reach what is out of sight: browsers pass over a frame without one. Outside
 * nobody learns of that focus, so its ring is drawn here: `--focus` of the light theme, since the paper is white in both.
 */
const FRAME_HEAD = Buffer.from(`<!doctype html><style>
:root:focus-visible::after {
  content: ""; position: fixed; inset: 0; z-index: 2147483647; pointer-events: none;
  outline: 2px solid #0f6b53; outline-offset: -2px;
}
</style><script>(() => {
const root = document.documentElement;
let width = 0, least = 0, told = 0;
const tell = () => {
  if (innerWidth !== width) [width, least] = [innerWidth, 0];
  const flow = root.getBoundingClientRect().height;
  const scrolls = root.scrollHeight > root.clientHeight;
  if (scrolls && root.scrollHeight > flow + 1) least = Math.max(least, root.scrollHeight);
  if (scrolls) root.tabIndex = 0;
  else root.removeAttribute("tabindex");
  const height = Math.ceil(Math.max(flow, least)) + innerHeight - root.clientHeight;
  if (height !== told) parent.postMessage({ moliFrameHeight: told = height }, "*");
};
new ResizeObserver(tell).observe(root);
addEventListener("resize", tell);
addEventListener("load", tell);
})()</script>
`);

/** The page as a frame of the workbench gets it. It is longer than what is stored, whose positions a range would mean: it is sent whole. */
export async function framedPage({ stored, type, disposition, open }: ContentOptions): Promise<StreamableFile> {
  const { stream: page } = await open(undefined);
  const stream = new PassThrough();
  stream.write(FRAME_HEAD);
  // A fault of either side ends the other one; the reply sees it on its own stream.
  pipeline(page, stream, () => {});
  return new StreamableFile(stream, { type, disposition, length: stored.bytes + FRAME_HEAD.length });
}
