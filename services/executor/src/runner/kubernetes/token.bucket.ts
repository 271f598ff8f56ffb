/** At most `burst` at once, and one more every `everyMs`. */
export class TokenBucket {
  readonly #burst: number;
  readonly #everyMs: number;
  #tokens: number;
  #at: number | null = null;

  constructor(burst: number, everyMs: number) {
    this.#burst = burst;
    this.#everyMs = everyMs;
    this.#tokens = burst;
  }

  /** `now` in milliseconds, never going back. */
  take(now: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - (this.#at ?? now)) / this.#everyMs);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
