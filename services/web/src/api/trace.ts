const traces = new Map<string, string>();

const hex = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/**
 * W3C `traceparent` of what leads to the next message of a session: its uploads and the message itself are one trace, so that an operator
 * who has a collector sees the whole scene from the file to the answer.
 */
export function traceparent(sessionId: string): string {
  const traceId = traces.get(sessionId) ?? hex(16);
  traces.set(sessionId, traceId);
  return `00-${traceId}-${hex(8)}-01`;
}

/** The message is accepted; what follows is another trace. */
export function endTrace(sessionId: string): void {
  traces.delete(sessionId);
}
