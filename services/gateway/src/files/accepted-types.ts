import { type AcceptedType, selectTypes } from '@moli/tables';
import type { GatewayConfig } from '../config.ts';

/** The kinds of files that this installation accepts, by extension. */
export function acceptedTypes(config: Pick<GatewayConfig, 'uploadTypes'>): readonly AcceptedType[] {
  return selectTypes(config.uploadTypes);
}
