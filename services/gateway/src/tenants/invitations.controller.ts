import { Body, Controller, Delete, Get, HttpCode, Inject, Ip, Param, Post, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { Authenticator } from '../identity/authenticator.ts';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { SignedInUser } from '../identity/identity.schema.ts';
import { MinRole, Public } from '../identity/public.ts';
import { SignInService } from '../identity/sign-in.service.ts';
import { AcceptService } from './accept.service.ts';
import { InvitationsService } from './invitations.service.ts';
import {
  AcceptInvitation,
  CreatedInvitation,
  CreateInvitation,
  InvitationId,
  InvitationList,
  InvitationToken,
  OpenInvitation,
} from './tenants.schema.ts';

@Controller('v1/invitations')
export class InvitationsController {
  constructor(
    @Inject(InvitationsService) private readonly invitations: InvitationsService,
    @Inject(AcceptService) private readonly acceptance: AcceptService,
    @Inject(SignInService) private readonly signIn: SignInService,
    @Inject(Authenticator) private readonly authenticator: Authenticator,
  ) {}

  @Get()
  @MinRole('admin')
  @ApiOperation({ summary: 'Invitations that wait', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: InvitationList })
  async listInvitations(@CurrentCaller() caller: Caller): Promise<z.infer<typeof InvitationList>> {
    return { items: await this.invitations.list(caller.tenantId) };
  }

  @Post()
  @MinRole('admin')
  @ApiOperation({ summary: 'Invite a person; the answer holds the one-time link', tags: ['identity'] })
  @ApiResponse({ status: 201, standardSchema: CreatedInvitation })
  createInvitation(
    @CurrentCaller() caller: Caller,
    @Body({ schema: CreateInvitation }) body: z.infer<typeof CreateInvitation>,
  ): Promise<z.infer<typeof CreatedInvitation>> {
    return this.invitations.create(caller, body);
  }

  @Delete(':id')
  @HttpCode(204)
  @MinRole('admin')
  @ApiOperation({ summary: 'Withdraw an invitation', tags: ['identity'] })
  @ApiResponse({ status: 204, description: 'The link opens nothing any more' })
  withdrawInvitation(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: InvitationId }) id: string,
  ): Promise<void> {
    return this.invitations.withdraw(caller, id);
  }

  @Get(':token')
  @Public()
  @ApiOperation({ summary: 'What an invitation is for', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: OpenInvitation })
  getInvitation(
    @Param('token', { schema: InvitationToken }) token: string,
    @Ip() address: string,
  ): Promise<OpenInvitation> {
    return this.acceptance.look(token, address);
  }

  @Post(':token/accept')
  @HttpCode(200)
  @Public()
  @ApiOperation({ summary: 'Accept an invitation and be signed in', tags: ['identity'] })
  @ApiResponse({ status: 200, standardSchema: SignedInUser })
  async acceptInvitation(
    @Param('token', { schema: InvitationToken }) token: string,
    @Body({ schema: AcceptInvitation }) body: z.infer<typeof AcceptInvitation>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<z.infer<typeof SignedInUser>> {
    const email = await this.acceptance.accept(token, request.ip, body);
    const origin = this.authenticator.hosts.originOf(request);
    const { user, setCookies } = await this.signIn.withPassword(request, origin, email, body.password);
    for (const cookie of setCookies) reply.header('set-cookie', cookie);
    return { user };
  }
}
