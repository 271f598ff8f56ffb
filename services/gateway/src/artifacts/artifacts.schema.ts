import { RunArtifact } from '@moli/queue';
import { z } from 'zod';
import { isId } from '../ids.ts';

/** A file that a run made, as the log, tools and runs tell of it. Its bytes are at `GET /v1/artifacts/{id}/content`. */
export const ArtifactRef = RunArtifact.omit({ shown: true });

export const ArtifactId = z.string().refine((id) => isId('art', id), { error: 'not an artifact id' });

/** A file that a run made, as lists of a session show it. */
export const SessionArtifact = ArtifactRef.extend({ runId: z.string(), createdAt: z.iso.datetime() }).meta({
  id: 'SessionArtifact',
});
export type SessionArtifact = z.infer<typeof SessionArtifact>;

export const ContentQuery = z.strictObject({
  download: z.enum(['0', '1']).optional().meta({ description: '1: a download, whatever the type.' }),
  frame: z.enum(['0', '1']).optional().meta({
    description:
      '1: HTML for a frame of a page of the same origin. The page tells its parent window how high it is, in CSS pixels, by the message `{ "moliFrameHeight": 300 }` whenever that changes. The message comes from the frame’s window and the origin `null`; the program that made the page may send any number, so bound it. Sent whole: `Range` is ignored. Other types are as without.',
  }),
});

/** A link lives an hour unless asked otherwise, a day at most. */
export const ArtifactLinkRequest = z
  .strictObject({ expiresInSeconds: z.int().min(1).max(86_400).default(3600) })
  .meta({ id: 'ArtifactLinkRequest' });
export const ArtifactLink = z.object({ url: z.string(), expiresAt: z.iso.datetime() }).meta({ id: 'ArtifactLink' });
