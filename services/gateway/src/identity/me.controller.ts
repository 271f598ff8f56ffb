import { Body, Controller, Get, HttpCode, Inject, Ip, Post, Req } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from './caller.ts';
import { Me, SetPassword } from './identity.schema.ts';
import { MeService } from './me.service.ts';
import { PasswordService } from './password.service.ts';
import { CurrentPerson } from './person.ts';
import { MinRole } from './public.ts';
import type { FoundSession } from './session-lookup.ts';

@Controller('v1/me')
export class MeController {
  constructor(
    @Inject(MeService) private readonly me: MeService,
    @Inject(PasswordService) private readonly passwords: PasswordService,
  ) {}

  @Get()
  @ApiOperation({ summary: 'Who is calling, in which team, with which role', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: Me })
  getMe(@CurrentCaller() caller: Caller, @Req() request: FastifyRequest): Promise<Me> {
    return this.me.describe(caller, request.person);
  }

  @Post('password')
  @HttpCode(204)
  @MinRole('viewer')
  @ApiOperation({ summary: 'Set or change one’s own password; ends all other sessions', tags: ['identity'] })
  @ApiResponse({ status: 204, description: 'The password is set' })
  async setPassword(
    @CurrentPerson() person: FoundSession,
    @Body({ schema: SetPassword }) body: z.infer<typeof SetPassword>,
    @Ip() address: string,
  ): Promise<void> {
    await this.passwords.set(person, body, address);
  }
}
