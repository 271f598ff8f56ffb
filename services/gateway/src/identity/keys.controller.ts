import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from './caller.ts';
import { ApiKeyList, CreatedKey, CreateKey, KeyId } from './identity.schema.ts';
import { KeysService } from './keys.service.ts';

@Controller('v1/keys')
export class KeysController {
  constructor(@Inject(KeysService) private readonly keys: KeysService) {}

  @Get()
  @ApiOperation({ summary: 'One’s own API keys; all of the team for an administrator', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: ApiKeyList })
  async listKeys(@CurrentCaller() caller: Caller): Promise<z.infer<typeof ApiKeyList>> {
    return { items: await this.keys.list(caller) };
  }

  @Post()
  @ApiOperation({ summary: 'Make an API key; it is shown this once', tags: ['identity'] })
  @ApiResponse({ status: 201, standardSchema: CreatedKey })
  createKey(
    @CurrentCaller() caller: Caller,
    @Body({ schema: CreateKey }) body: z.infer<typeof CreateKey>,
  ): Promise<z.infer<typeof CreatedKey>> {
    return this.keys.create(caller, body);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({ summary: 'Revoke an API key', tags: ['identity'] })
  @ApiResponse({ status: 204, description: 'The key opens nothing any more' })
  revokeKey(@CurrentCaller() caller: Caller, @Param('id', { schema: KeyId }) id: string): Promise<void> {
    return this.keys.revoke(caller, id);
  }
}
