import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ChannelCredentials, credentials, experimental, Metadata, type ServerCredentials } from '@grpc/grpc-js';

/** How often certificate files are looked at. A renewed one is used by the next handshake. */
const REREAD_MS = 10_000;

/** TLS of a server whose PEM files may be renewed while it runs. */
export function serverCredentials(files: { cert: string; key: string }): ServerCredentials {
  // Fails at the start, with the file's name, instead of at the first handshake.
  for (const file of [files.cert, files.key]) readFileSync(file);
  const provider = new experimental.FileWatcherCertificateProvider({
    certificateFile: files.cert,
    privateKeyFile: files.key,
    refreshIntervalMs: REREAD_MS,
  });
  // The names of the parameters in grpc-js 1.14 are the wrong way round: identity first, then the CA of clients (none).
  return experimental.createCertificateProviderServerCredentials(provider, null, false);
}

/** TLS of a client that trusts the certificates in `caFile` alone and shows a bearer token, read anew for each call. */
export function channelCredentials(files: { ca: string; token: string }): ChannelCredentials {
  const bearer = credentials.createFromMetadataGenerator((_call, done) => {
    readFile(files.token, 'utf8').then(
      (token) => {
        const metadata = new Metadata();
        metadata.set('authorization', `Bearer ${token.trim()}`);
        done(null, metadata);
      },
      (error: Error) => done(error),
    );
  });
  return credentials.combineChannelCredentials(credentials.createSsl(readFileSync(files.ca)), bearer);
}
