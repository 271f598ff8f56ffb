/** Why a turn is ended from outside; the reason of its abort signal. */
export class TurnCut extends Error {
  override readonly name = 'TurnCut';
  /** `stopped` by a person, `interrupted` because the gateway stops, `dropped` with its session. */
  readonly kind: 'stopped' | 'interrupted' | 'dropped';
  /** Who stopped it. */
  readonly by: string | undefined;

  constructor(kind: TurnCut['kind'], by?: string) {
    super(`turn ${kind}`);
    this.kind = kind;
    this.by = by;
  }
}
