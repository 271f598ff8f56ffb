import { Inject, Injectable } from '@nestjs/common';
import { headAndTail } from './run-report.ts';
import { needsSession, SessionFiles } from './session-files.ts';
import type { ToolContext, ToolDefinition, ToolOutput } from './tool.types.ts';

/** Characters of the list that the model reads. */
const CONTENT_LIMIT = 12_000;

/** Lists the workspace of the session. */
@Injectable()
export class FileListTool {
  readonly definition: ToolDefinition = {
    name: 'file_list',
    aliases: ['list_files'],
    description:
      'List the files of this session: what the user uploaded (with encoding, columns and doubts as found on upload) and what earlier runs made. run_python opens them by these names.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    kind: 'builtin',
    permissions: ['read_file'],
    flags: { cacheable: false, sideEffects: false, highRisk: false, timeoutSeconds: 15 },
    needsSession: true,
    handler: (_args, context) => this.#list(context),
  };

  constructor(@Inject(SessionFiles) private readonly files: SessionFiles) {}

  async #list({ caller, sessionId }: ToolContext): Promise<ToolOutput> {
    if (!sessionId) throw needsSession('file_list');
    const files = await this.files.list(caller, sessionId);
    const state = files.map(({ id, name, origin, bytes, mimeType }) => ({ id, name, origin, bytes, mimeType }));
    if (files.length === 0) return { content: 'The session has no files.', state };
    const lines = files.map((file) =>
      file.describe
        ? `Uploaded: ${file.describe(caller.locale)}`
        : `Made by a run: ${file.name} (${file.mimeType}, ${file.bytes} bytes)`,
    );
    return { content: headAndTail(lines.join('\n'), CONTENT_LIMIT), state };
  }
}
