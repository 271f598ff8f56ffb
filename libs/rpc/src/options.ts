import type { ChannelOptions } from '@grpc/grpc-js';

/** A peer that does not answer a ping for this long is gone: a node that lost its power sends no reset. */
const PING_EVERY_MS = 5_000;
const PING_TIMEOUT_MS = 5_000;
/** A run's code may have 16 MiB (`sandbox/PROTOCOL.md`), and there is a little around it. */
const MAX_MESSAGE_BYTES = 20 * 1024 * 1024;

const COMMON: ChannelOptions = {
  'grpc.keepalive_time_ms': PING_EVERY_MS,
  'grpc.keepalive_timeout_ms': PING_TIMEOUT_MS,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  // The registry of channels for debugging holds every message count and costs memory.
  'grpc.enable_channelz': 0,
};

export const SERVER_OPTIONS: ChannelOptions = COMMON;

/** Each client has a connection of its own: a new one may reach another server behind the same name. */
export const CLIENT_OPTIONS: ChannelOptions = {
  ...COMMON,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
};
