import type { Text } from '../words.ts';

/** One line of what the doctor found. */
export interface Finding {
  readonly name: string;
  /** `missing` stops the main job; `advice` does not. */
  readonly level: 'ok' | 'advice' | 'missing';
  readonly found: Text;
  readonly todo?: Text;
}
