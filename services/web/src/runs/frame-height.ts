import { onScopeDispose, type Ref, ref, watch } from 'vue';

/** Bounds of a frame, in pixels: a page of a run neither vanishes nor pushes the conversation out of sight. */
export const frameBounds = { least: 48, most: 640 } as const;

/** Heights that are known, by artifact: a message that scrolls out and back in does not jump. */
const known = new Map<string, number>();

/**
 * The height that a message tells for this frame, within the bounds; null when it tells none. Programs wrote what is in the frame, so
 * nothing of the message is believed but that the frame sent it and that it is a number. An origin that is not "null" is no sealed frame.
 */
export function frameHeight(
  event: Pick<MessageEvent<unknown>, 'data' | 'origin' | 'source'>,
  frame: Pick<HTMLIFrameElement, 'contentWindow'>,
): number | null {
  if (!event.source || event.source !== frame.contentWindow || event.origin !== 'null') return null;
  const { data } = event;
  if (typeof data !== 'object' || data === null || !('moliFrameHeight' in data)) return null;
  const height = data.moliFrameHeight;
  if (typeof height !== 'number' || !Number.isFinite(height) || height <= 0) return null;
  return Math.min(Math.max(Math.ceil(height), frameBounds.least), frameBounds.most);
}

/** Follows the height that a sealed page tells; undefined until it has told one, or if it never does. */
export function useFrameHeight(
  frame: Ref<HTMLIFrameElement | undefined>,
  artifactId: () => string,
): Ref<number | undefined> {
  const height = ref<number>();
  watch(
    artifactId,
    (id) => {
      height.value = known.get(id);
    },
    { immediate: true },
  );

  function receive(event: MessageEvent<unknown>): void {
    const told = frame.value ? frameHeight(event, frame.value) : null;
    if (told === null) return;
    height.value = told;
    known.set(artifactId(), told);
  }

  window.addEventListener('message', receive);
  onScopeDispose(() => window.removeEventListener('message', receive));
  return height;
}
