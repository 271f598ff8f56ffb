import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { UserId } from '../identity/identity.schema.ts';
import { MinRole } from '../identity/public.ts';
import { MembersService } from './members.service.ts';
import { ChangeMember, Member, MemberList } from './tenants.schema.ts';

@Controller('v1/members')
export class MembersController {
  constructor(@Inject(MembersService) private readonly members: MembersService) {}

  @Get()
  @ApiOperation({ summary: 'Members of the team', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: MemberList })
  async listMembers(@CurrentCaller() caller: Caller): Promise<z.infer<typeof MemberList>> {
    return { items: await this.members.list(caller) };
  }

  @Patch(':userId')
  @MinRole('admin')
  @ApiOperation({ summary: 'Give a member another role', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: Member })
  changeMember(
    @CurrentCaller() caller: Caller,
    @Param('userId', { schema: UserId }) userId: string,
    @Body({ schema: ChangeMember }) body: z.infer<typeof ChangeMember>,
  ): Promise<Member> {
    return this.members.setRole(caller, userId, body.role);
  }

  @Delete(':userId')
  @HttpCode(204)
  @MinRole('admin')
  @ApiOperation({ summary: 'End a membership', tags: ['identity'] })
  @ApiResponse({ status: 204, description: 'The person has no access to this team any more' })
  removeMember(@CurrentCaller() caller: Caller, @Param('userId', { schema: UserId }) userId: string): Promise<void> {
    return this.members.remove(caller, userId);
  }
}
