import type { Text } from './words.ts';

/** Something went wrong that a person can do something about; the text says what happened and what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly text: Text;

  constructor(text: Text, options: { cause?: unknown } = {}) {
    super(text.en, options);
    this.text = text;
  }
}
