/**
 * gRPC between our own services: the code generated from `proto/`, and the options and credentials that every server and client uses.
 */

export * from './generated/moli/executor/v1/courier.ts';
export { CLIENT_OPTIONS, SERVER_OPTIONS } from './options.ts';
export { channelCredentials, serverCredentials } from './tls.ts';
