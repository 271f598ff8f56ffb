import { artifactDownloadUrl } from '../api/routes.ts';
import type { ArtifactRef } from '../api/types.ts';
import { showToast } from '../frame/toasts.ts';
import { t } from '../i18n/i18n.ts';
import { isPicture } from '../runs/call-results.ts';
import { openImage } from '../runs/image-viewer.ts';
import type { Message } from '../sessions/session-fold.ts';
import { useSessions } from '../sessions/sessions.store.ts';

/** Opens the artifact that a `sandbox:/mnt/data/…` link names: pictures large, other files as a download. */
export function useArtifactOpener(): (message: Message, name: string) => void {
  const sessions = useSessions();
  return (message, name) => {
    const found = artifactsOf(message).findLast((artifact) => artifact.name === name) ?? olderArtifact(name);
    if (!found) {
      showToast(t('artifact.missing', { name }), { tone: 'danger' });
      return;
    }
    if (isPicture(found)) openImage(found);
    else location.assign(artifactDownloadUrl(found.id));
  };

  /** A link may name a file of an earlier answer. */
  function olderArtifact(name: string): ArtifactRef | undefined {
    const messages = sessions.currentId ? sessions.open(sessions.currentId).view.value.messages : [];
    return messages.flatMap(artifactsOf).findLast((artifact) => artifact.name === name);
  }
}

function artifactsOf(message: Message): ArtifactRef[] {
  return Object.values(message.tools).flatMap((tool) => [
    ...tool.artifacts,
    ...tool.displays.flatMap((display) => (display.artifact ? [display.artifact] : [])),
  ]);
}
