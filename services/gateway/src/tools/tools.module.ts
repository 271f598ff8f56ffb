import { Module } from '@nestjs/common';
import { ArtifactsModule } from '../artifacts/artifacts.module.ts';
import { FilesModule } from '../files/files.module.ts';
import { RunsModule } from '../runs/runs.module.ts';
import { CalculateTool } from './calculate.tool.ts';
import { FileListTool } from './file-list.tool.ts';
import { FileReadTool } from './file-read.tool.ts';
import { RunPythonTool } from './run-python.tool.ts';
import { SessionFiles } from './session-files.ts';
import type { ToolDefinition } from './tool.types.ts';
import { ToolRegistry } from './tool-registry.ts';
import { ToolsController } from './tools.controller.ts';
import { ToolsService } from './tools.service.ts';

/** In the order in which models see them. */
const TOOLS = [RunPythonTool, FileListTool, FileReadTool, CalculateTool];

@Module({
  imports: [RunsModule, FilesModule, ArtifactsModule],
  controllers: [ToolsController],
  providers: [
    SessionFiles,
    ...TOOLS,
    {
      provide: ToolRegistry,
      inject: TOOLS,
      useFactory: (...tools: { definition: ToolDefinition }[]) =>
        new ToolRegistry(tools.map((tool) => tool.definition)),
    },
    ToolsService,
  ],
  exports: [ToolsService, ToolRegistry],
})
export class ToolsModule {}
