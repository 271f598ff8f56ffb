const MAX_CHARACTERS = 60;

/** The title of a new session: the first line of its first message, else the name of its first file. */
export function titleFrom(text: string, fileName: string | undefined): string {
  const line =
    text
      .split('\n')
      .map((one) => one.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim())
      .find((one) => one !== '') ??
    fileName ??
    '';
  const characters = [...line];
  return characters.length <= MAX_CHARACTERS
    ? line
    : `${characters
        .slice(0, MAX_CHARACTERS - 1)
        .join('')
        .trimEnd()}…`;
}
