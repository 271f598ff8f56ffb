import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Patch, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../identity/caller.ts';
import { Agent, AgentChange, AgentId, AgentList, NewAgent } from './agents.schema.ts';
import { AgentsService } from './agents.service.ts';

/** Agents of the tenant. What GET answers is also the agent's export: `POST` takes the same fields. */
@Controller('v1/agents')
export class AgentsController {
  constructor(@Inject(AgentsService) private readonly agents: AgentsService) {}

  @Get()
  @ApiResponse({ status: 200, standardSchema: AgentList })
  async listAgents(@CurrentCaller() caller: Caller): Promise<{ items: Agent[] }> {
    return { items: await this.agents.list(caller) };
  }

  @Get(':id')
  @ApiResponse({ status: 200, standardSchema: Agent })
  getAgent(@CurrentCaller() caller: Caller, @Param('id', { schema: AgentId }) id: string): Promise<Agent> {
    return this.agents.get(caller, id);
  }

  @Post()
  @ApiResponse({ status: 201, standardSchema: Agent })
  createAgent(@CurrentCaller() caller: Caller, @Body({ schema: NewAgent }) body: NewAgent): Promise<Agent> {
    return this.agents.create(caller, body);
  }

  @Patch(':id')
  @ApiResponse({ status: 200, standardSchema: Agent })
  updateAgent(
    @CurrentCaller() caller: Caller,
    @Param('id', { schema: AgentId }) id: string,
    @Body({ schema: AgentChange }) body: AgentChange,
  ): Promise<Agent> {
    return this.agents.update(caller, id, body);
  }

  @Delete(':id')
  @HttpCode(204)
  async deleteAgent(@CurrentCaller() caller: Caller, @Param('id', { schema: AgentId }) id: string): Promise<void> {
    await this.agents.remove(caller, id);
  }
}
