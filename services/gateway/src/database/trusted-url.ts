/**
 * A connection URL that checks the server's certificate against this authority alone, and its name. What the URL says of TLS by itself is replaced:
 * whoever names an authority wants it checked.
 */
export function trustedUrl(url: string, caFile: string | undefined): string {
  if (caFile === undefined) return url;
  const parsed = new URL(url);
  parsed.searchParams.set('sslmode', 'verify-full');
  parsed.searchParams.set('sslrootcert', caFile);
  return parsed.toString();
}
