import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createConnection, isIP } from 'node:net';
import { ProbeOutcome, type ProbeResult } from '@moli/rpc';

/** A target that let nothing through in this time is out of reach: inside a cluster an answer takes a millisecond or two. */
const TIMEOUT_MS = 700;

export type ProbeKind = 'api-server' | 'metadata' | 'node' | 'dns' | 'neighbour' | 'forbidden';

export interface ProbeTarget {
  readonly kind: ProbeKind;
  readonly host: string;
  readonly port: number;
}

/** Tried with a query by UDP too: names can carry data out. */
const DNS_PORT = 53;
/** Ports of a node that would matter most: kubelet, SSH, web, API server. */
const NODE_PORTS = [10_250, 22, 443, 6_443];
/** Clouds give credentials away there. */
const METADATA_HOST = '169.254.169.254';

/** Everything that a sandbox Pod must not reach. `apiServer` is what Kubernetes puts into the environment of every container. */
export function forbiddenTargets(about: {
  apiServer?: string | undefined;
  nodeIp?: string | undefined;
  outside: readonly string[];
  listed: readonly string[];
}): ProbeTarget[] {
  const targets: ProbeTarget[] = about.outside.map((text) => {
    const target = parseTarget(text, 'forbidden');
    return {
      ...target,
      kind: target.host === METADATA_HOST ? 'metadata' : target.port === DNS_PORT ? 'dns' : 'forbidden',
    };
  });
  if (about.apiServer) targets.push(parseTarget(about.apiServer, 'api-server'));
  if (about.nodeIp) {
    for (const port of NODE_PORTS) targets.push({ kind: 'node', host: about.nodeIp, port });
  }
  targets.push(...about.listed.map((text) => parseTarget(text, 'forbidden')));
  return [...new Map(targets.map((target) => [nameOf(target), target])).values()];
}

/** `host:port` or `[v6]:port`. */
export function parseTarget(text: string, kind: ProbeKind): ProbeTarget {
  const match = /^\[?([^\s[\]]+?)\]?:(\d{1,5})$/.exec(text.trim());
  if (!match) throw new Error(`not a host and port: ${text}`);
  return { kind, host: match[1]!, port: Number(match[2]) };
}

/** Tries all at once. Only an established connection or an answer counts as reached: a refusal can be the network policy's own. */
export function probeIsolation(targets: readonly ProbeTarget[]): Promise<ProbeResult[]> {
  return Promise.all(targets.map((target) => probe(target)));
}

async function probe(target: ProbeTarget): Promise<ProbeResult> {
  const attempts = [connect(target)];
  if (target.port === DNS_PORT) attempts.push(resolve(target));
  const seen = await Promise.all(attempts);
  const reached = seen.find((one) => one.reached);
  return {
    kind: target.kind,
    target: nameOf(target),
    outcome: reached ? ProbeOutcome.REACHED : ProbeOutcome.BLOCKED,
    detail: (reached ?? seen[0])!.detail,
  };
}

interface Seen {
  readonly reached: boolean;
  readonly detail: string;
}

function connect({ host, port }: ProbeTarget): Promise<Seen> {
  const { promise, resolve: done } = Promise.withResolvers<Seen>();
  const socket = createConnection({ host, port });
  const timer = setTimeout(() => done({ reached: false, detail: 'no answer' }), TIMEOUT_MS);
  socket.on('connect', () => done({ reached: true, detail: 'a TCP connection was established' }));
  socket.on('error', (error: NodeJS.ErrnoException) => done({ reached: false, detail: error.code ?? error.name }));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

/** Asks a resolver for a name; whatever it answers, it was reached. */
function resolve({ host, port }: ProbeTarget): Promise<Seen> {
  const { promise, resolve: done } = Promise.withResolvers<Seen>();
  const socket = createSocket(isIP(host) === 6 ? 'udp6' : 'udp4');
  const timer = setTimeout(() => done({ reached: false, detail: 'no answer' }), TIMEOUT_MS);
  socket.on('message', () => done({ reached: true, detail: 'a DNS query was answered' }));
  socket.on('error', (error: NodeJS.ErrnoException) => done({ reached: false, detail: error.code ?? error.name }));
  socket.send(dnsQuery('example.com'), port, host, (error) => {
    if (error) done({ reached: false, detail: (error as NodeJS.ErrnoException).code ?? error.name });
  });
  return promise.finally(() => {
    clearTimeout(timer);
    socket.close();
  });
}

/** A query for an address record, recursion desired (RFC 1035, 4.1). */
function dnsQuery(name: string): Buffer {
  const header = Buffer.concat([randomBytes(2), Buffer.from([1, 0, 0, 1, 0, 0, 0, 0, 0, 0])]);
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1])]);
}

function nameOf({ host, port }: ProbeTarget): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}
