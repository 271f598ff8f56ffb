import type { ArtifactRef, Display, TableDisplay } from '../api/types.ts';
import { t } from '../i18n/i18n.ts';
import type { ToolCall } from '../sessions/session-fold.ts';

/** Kinds of pictures that the gateway serves for showing; SVG can carry script and is a download. */
const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

export const isPicture = (artifact: Pick<ArtifactRef, 'mimeType'>): boolean => pictures.has(artifact.mimeType);

/** What a call has to show, in order: its displays, then pictures that it saved without showing them. */
export function shownBy(call: ToolCall): Display[] {
  const shown = new Set(call.displays.map((display) => display.artifact?.id));
  const saved = call.artifacts.filter((artifact) => isPicture(artifact) && !shown.has(artifact.id));
  return [...call.displays, ...saved.map((artifact) => ({ mimeType: artifact.mimeType, artifact }))];
}

/** Files that stand nowhere else. */
export function otherFiles(call: ToolCall): ArtifactRef[] {
  const shown = new Set(shownBy(call).map((display) => display.artifact?.id));
  return call.artifacts.filter((artifact) => !shown.has(artifact.id));
}

export function chartsOf(call: ToolCall): ArtifactRef[] {
  return shownBy(call).flatMap(({ artifact }) => (artifact && isPicture(artifact) ? [artifact] : []));
}

export function tablesOf(call: ToolCall): TableDisplay[] {
  return call.displays.flatMap(({ table }) => (table ? [table] : []));
}

/** "1 chart", "2 tables": what calls brought, as words. */
export function resultWords(calls: readonly ToolCall[]): string[] {
  const charts = calls.flatMap(chartsOf).length;
  const tables = calls.flatMap(tablesOf).length;
  return [
    ...(charts ? [t('run.charts', { n: charts }, charts)] : []),
    ...(tables ? [t('run.tables', { n: tables }, tables)] : []),
  ];
}

/** Why a call was made: the model's own words before it, which it does not always say. */
export const reasonOf = (call: Pick<ToolCall, 'trigger'>): string => call.trigger || t('trace.byModel');
