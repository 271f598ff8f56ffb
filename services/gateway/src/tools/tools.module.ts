import { Module } from '@nestjs/common';
import { RunsModule } from '../runs/runs.module.ts';
import { RunPythonTool } from './run-python.tool.ts';
import { ToolRegistry } from './tool-registry.ts';
import { ToolsController } from './tools.controller.ts';
import { ToolsService } from './tools.service.ts';

const TOOLS = [RunPythonTool] as const;

@Module({
  imports: [RunsModule],
  controllers: [ToolsController],
  providers: [
    ...TOOLS,
    {
      provide: ToolRegistry,
      inject: [...TOOLS],
      useFactory: (...tools: InstanceType<(typeof TOOLS)[number]>[]) =>
        new ToolRegistry(tools.map((tool) => tool.definition)),
    },
    ToolsService,
  ],
  exports: [ToolsService, ToolRegistry],
})
export class ToolsModule {}
