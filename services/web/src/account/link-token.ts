export type LinkToken = { kind: 'sign-in' | 'invite'; token: string };

/** The one-time token of the address (`#sign-in=…` or `#invite=…`), taken out of it so that it stays in no history and no screenshot. */
export function takeLinkToken(): LinkToken | null {
  const match = /^#(sign-in|invite)=([^&]+)/.exec(location.hash);
  if (!match) return null;
  history.replaceState(history.state, '', location.pathname + location.search);
  return { kind: match[1] as LinkToken['kind'], token: decodeURIComponent(match[2]!) };
}
