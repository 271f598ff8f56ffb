import type { Locale } from '@moli/errors';

export type Text = Readonly<Record<Locale, string>>;

/** Something that has to be there is not; says what, and what to do about it. */
export class SelftestFailure extends Error {
  override readonly name = 'SelftestFailure';
  readonly detail: Text;

  constructor(detail: Text) {
    super(detail.en);
    this.detail = detail;
  }
}
