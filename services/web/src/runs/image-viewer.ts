import { shallowRef } from 'vue';
import type { ArtifactRef } from '../api/types.ts';

/** The picture that stands large over the page. */
export const largeImage = shallowRef<ArtifactRef | null>(null);

export function openImage(artifact: ArtifactRef): void {
  largeImage.value = artifact;
}
