import type { Failure } from '@moli/queue';

/** A run that the platform has to end, with the reason that people are told. */
export class RunFailure extends Error {
  override readonly name = 'RunFailure';
  readonly failure: Failure;
  constructor(failure: Failure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
