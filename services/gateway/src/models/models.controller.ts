import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { MinRole } from '../identity/public.ts';
import {
  ModelConfig,
  ModelConfigChange,
  ModelConfigId,
  ModelConfigList,
  ModelTest,
  ModelTestAnswer,
  NewModelConfig,
} from './models.schema.ts';
import { ModelsService } from './models.service.ts';

/**
 * Models of the tenant. Addresses may be private ones on purpose (closed installations have their models there), so only administrators
 * set or try them. Keys go in and never come out.
 */
@Controller('v1/model-configs')
export class ModelsController {
  constructor(@Inject(ModelsService) private readonly models: ModelsService) {}

  @Get()
  @ApiResponse({ status: 200, standardSchema: ModelConfigList })
  async listModelConfigs(@CurrentCaller() caller: Caller): Promise<{ items: ModelConfig[] }> {
    return { items: await this.models.list(caller) };
  }

  @Post()
  @MinRole('admin')
  @ApiResponse({ status: 201, standardSchema: ModelConfig })
  createModelConfig(
    @CurrentCaller() caller: Caller,
    @Body({ schema: NewModelConfig }) body: NewModelConfig,
  ): Promise<ModelConfig> {
    return this.models.create(caller, body);
  }

  @Post('test')
  @HttpCode(200)
  @MinRole('admin')
  @ApiResponse({ status: 200, standardSchema: ModelTestAnswer })
  testModelConfig(
    @CurrentCaller() caller: Caller,
    @Body({ schema: ModelTest }) body: ModelTest,
  ): Promise<ModelTestAnswer> {
    return this.models.test(caller, body);
  }

  @Patch(':id')
  @MinRole('admin')
  @ApiResponse({ status: 200, standardSchema: ModelConfig })
  updateModelConfig(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: ModelConfigId }) id: string,
    @Body({ schema: ModelConfigChange }) body: ModelConfigChange,
  ): Promise<ModelConfig> {
    return this.models.update(caller, id, body);
  }

  @Delete(':id')
  @HttpCode(204)
  @MinRole('admin')
  async deleteModelConfig(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: ModelConfigId }) id: string,
  ): Promise<void> {
    await this.models.remove(caller, id);
  }
}
