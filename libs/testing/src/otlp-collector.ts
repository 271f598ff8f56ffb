import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly service: string;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly { traceId: string; name: string; attributes: readonly Attribute[] }[];
    }[];
  }[];
}

export interface OtlpCollector {
  /** For `MOLI_OTLP_ENDPOINT`. */
  readonly url: string;
  /** Everything that has come, in the order of arrival. */
  readonly spans: readonly ReceivedSpan[];
  stop(): Promise<void>;
}

const asObject = (list: readonly Attribute[]) =>
  Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A collector of OTLP/HTTP JSON on a free port: what real processes export, spans arrive here. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      for (const { resource, scopeSpans } of (JSON.parse(text) as OtlpBody).resourceSpans) {
        const service = String(asObject(resource.attributes)['service.name']);
        for (const { traceId, name, attributes } of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({ traceId, name, attributes: asObject(attributes), service });
      }
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    spans,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
