export type LinkToken = { kind: 'sign-in' | 'invite'; token: string };

const pattern = /^#(sign-in|invite)=([^&]+)/;

function take(): LinkToken | null {
  const match = pattern.exec(location.hash);
  if (!match) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return { kind: match[1] as LinkToken['kind'], token: decodeURIComponent(match[2]!) };
}

/**
 * The one-time token of the address (`#sign-in=…` or `#invite=…`), taken out of it so that it stays in no history and no screenshot.
 * Read when this module loads: the router remembers the address of its own start, so this comes before it.
 */
export const linkToken = take();

// A link that is opened in a tab which already shows this page changes the fragment alone.
window.addEventListener('hashchange', () => {
  if (pattern.test(location.hash)) location.reload();
});
