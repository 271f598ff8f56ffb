import { status as Status } from '@grpc/grpc-js';

/** Why a courier is not taken. The words are labels of a metric and what an operator greps for. */
export const ATTACH_REFUSALS = {
  protocol: Status.INVALID_ARGUMENT,
  draining: Status.UNAVAILABLE,
  api_unavailable: Status.UNAVAILABLE,
  token_missing: Status.UNAUTHENTICATED,
  token_rejected: Status.UNAUTHENTICATED,
  token_audience: Status.UNAUTHENTICATED,
  token_unbound: Status.UNAUTHENTICATED,
  wrong_account: Status.PERMISSION_DENIED,
  other_pod: Status.PERMISSION_DENIED,
  pod_missing: Status.PERMISSION_DENIED,
  pod_terminating: Status.PERMISSION_DENIED,
  wrong_owner: Status.PERMISSION_DENIED,
  relabelled: Status.PERMISSION_DENIED,
  wrong_profile: Status.PERMISSION_DENIED,
  wrong_address: Status.PERMISSION_DENIED,
  already_used: Status.PERMISSION_DENIED,
  sandbox_not_ready: Status.FAILED_PRECONDITION,
  sandbox_weak: Status.FAILED_PRECONDITION,
  isolation_broken: Status.FAILED_PRECONDITION,
  objects_unreachable: Status.FAILED_PRECONDITION,
} as const satisfies Record<string, Status>;
export type RefusalReason = keyof typeof ATTACH_REFUSALS;

/** A courier that this executor does not take, and why. The message is for an operator and holds no token. */
export class AttachRefusal extends Error {
  override readonly name = 'AttachRefusal';
  readonly reason: RefusalReason;
  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }

  /** What the courier is answered. */
  get code(): Status {
    return ATTACH_REFUSALS[this.reason];
  }
}
