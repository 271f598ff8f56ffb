import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { ModelsStore } from '../models/models.store.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import type { Agent, AgentChange, NewAgent } from './agents.schema.ts';
import { AgentsStore } from './agents.store.ts';

/** Agents: a name, a prompt, a model, tools and a context policy. */
@Injectable()
export class AgentsService {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(AgentsStore) private readonly store: AgentsStore,
    @Inject(ModelsStore) private readonly models: ModelsStore,
    @Inject(ToolRegistry) private readonly tools: ToolRegistry,
    @Inject(AuditStore) private readonly audit: AuditStore,
  ) {}

  list(caller: Caller): Promise<Agent[]> {
    return this.db.as(caller.tenantId, (tx) => this.store.list(tx));
  }

  /** Errors: `not_found`. */
  async get(caller: { readonly tenantId: string }, id: string): Promise<Agent> {
    const agent = await this.db.as(caller.tenantId, (tx) => this.store.get(tx, id));
    if (!agent) throw notFound();
    return agent;
  }

  find(tx: TenantTx, id: string): Promise<Agent | null> {
    return this.store.get(tx, id);
  }

  /** The agent of a session that names none: the tenant's oldest. Makes one where there is none. */
  async defaultAgent(tx: TenantTx): Promise<Agent> {
    return (await this.store.first(tx)) ?? this.store.insertDefault(tx);
  }

  /** Errors: `bad_request` for an unknown tool or model. */
  async create(caller: Caller, agent: NewAgent): Promise<Agent> {
    return this.db.as(caller.tenantId, async (tx) => {
      const settings = await this.#checked(tx, agent);
      const made = await this.store.insert(tx, { ...agent, ...settings });
      await this.audit.append(tx, caller, { action: 'agent.create', target: made.id, outcome: 'ok' });
      return made;
    });
  }

  /** Errors: `not_found`, `bad_request`. */
  async update(caller: Caller, id: string, change: AgentChange): Promise<Agent> {
    return this.db.as(caller.tenantId, async (tx) => {
      const settings = await this.#checked(tx, change);
      const agent = await this.store.update(tx, id, { ...change, ...settings });
      if (!agent) throw notFound();
      await this.audit.append(tx, caller, { action: 'agent.update', target: id, outcome: 'ok' });
      return agent;
    });
  }

  /** Refuses (`conflict`) an agent that sessions use, and the last one. Errors: `not_found`. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.db.as(caller.tenantId, async (tx) => {
      if (!(await this.store.get(tx, id))) throw notFound();
      const sessions = await this.store.sessionsOf(tx, id);
      if (sessions > 0) throw inUse(sessions);
      if ((await this.store.list(tx)).length === 1) throw lastOne();
      await this.store.delete(tx, id);
      await this.audit.append(tx, caller, { action: 'agent.delete', target: id, outcome: 'ok' });
    });
  }

  /** Tools by their own names, each once; the model must be one of the tenant's. */
  async #checked(tx: TenantTx, { tools, routing }: AgentChange): Promise<{ tools?: string[] }> {
    const modelId = routing?.modelConfigId;
    if (modelId && !(await this.models.get(tx, modelId))) {
      throw new AppError('bad_request', {
        zh: 'routing.modelConfigId 指向的模型不存在。请先在模型设置里添加，或填 null 使用默认模型。',
        en: 'The model that routing.modelConfigId names does not exist. Add it in the model settings first, or use null for the default model.',
      });
    }
    if (!tools) return {};
    const names = tools.map((name) => {
      const tool = this.tools.find(name);
      if (tool) return tool.name;
      const known = this.tools
        .all()
        .map((one) => one.name)
        .join(', ');
      throw new AppError('bad_request', {
        zh: `tools 里的“${name}”不是已有的工具。可用：${known}。`,
        en: `"${name}" in tools is not a tool. There are: ${known}.`,
      });
    });
    return { tools: [...new Set(names)] };
  }
}

const notFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个智能体，它可能已被删除。请刷新列表。',
    en: 'There is no such agent; it may have been deleted. Reload the list.',
  });

const inUse = (sessions: number): AppError =>
  new AppError(
    'conflict',
    {
      zh: `还有 ${sessions} 个会话在使用这个智能体，不能删除。请先删除这些会话，或为它们换一个智能体。`,
      en: `${sessions} sessions use this agent, so it cannot be deleted. Delete those sessions first, or give them another agent.`,
    },
    { fields: { sessions } },
  );

const lastOne = (): AppError =>
  new AppError('conflict', {
    zh: '这是最后一个智能体，不能删除。请先新建另一个。',
    en: 'This is the last agent, so it cannot be deleted. Make another one first.',
  });
