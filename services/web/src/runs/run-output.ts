/** Output kept in the page, in characters; a program may print a megabyte. */
const shownChars = 64_000;

/** The end of a program's output as a terminal would leave it. */
export function outputTail(text: string): { text: string; cut: boolean } {
  const cut = text.length > shownChars;
  const end = cut ? text.slice(text.indexOf('\n', text.length - shownChars) + 1 || text.length - shownChars) : text;
  return { text: settle(end).replace(/\n$/, ''), cut };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character starts a colour code
const colourCodes = /\u001b\[[0-9;?]*[A-Za-z]/g;

/** Progress bars write over their own line by carriage returns: the last writing counts. Colour codes go. */
function settle(text: string): string {
  const plain = text.includes('\u001b') ? text.replace(colourCodes, '') : text;
  if (!plain.includes('\r')) return plain;
  return plain
    .replace(/\r\n/g, '\n')
    .split('\n')
    .map((line) => overwrite(line))
    .join('\n');
}

function overwrite(line: string): string {
  let shown = '';
  for (const part of line.split('\r')) shown = part + shown.slice(part.length);
  return shown;
}
