import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * A port that nobody should get through to. Neighbours try it: only an established connection shows that nothing stands between two Pods, and
 * without a listener there is none in either case.
 */
export async function openCanary(host: string, port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  server.maxConnections = 16;
  server.listen(port, host);
  await once(server, 'listening');
  server.unref();
  return server;
}
