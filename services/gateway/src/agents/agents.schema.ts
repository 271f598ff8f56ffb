import { z } from 'zod';

export const AgentId = z.string().regex(/^agt_[0-9a-f]{32}$/, 'not an agent id');

const name = z.string().trim().min(1).max(80);
const avatar = z.string().trim().min(1).max(200);
const systemPrompt = z.string().max(20_000);
const modelConfigId = z.string().regex(/^mdl_[0-9a-f]{32}$/, 'not a model id');
/** `modelConfigId` null: the tenant's default model. */
const routing = z.strictObject({ mode: z.literal('fixed'), modelConfigId: modelConfigId.nullable() });
const tools = z.array(z.string().min(1).max(64)).max(100);
/** `maxTokens` null: the whole context of the model. */
const context = z.strictObject({ maxTokens: z.int().min(1000).max(10_000_000).nullable() });

export const Agent = z
  .object({
    id: AgentId,
    name,
    avatar: avatar.optional(),
    systemPrompt,
    routing,
    tools,
    context,
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

export const AgentList = z.object({ items: z.array(Agent) }).meta({ id: 'AgentList' });

export const NewAgent = z
  .strictObject({
    name,
    avatar: avatar.optional(),
    systemPrompt: systemPrompt.optional(),
    routing: routing.optional(),
    tools: tools.optional(),
    context: context.optional(),
  })
  .meta({ id: 'NewAgent' });
export type NewAgent = z.infer<typeof NewAgent>;

export const AgentChange = z
  .strictObject({
    name: name.optional(),
    avatar: avatar.nullable().optional(),
    systemPrompt: systemPrompt.optional(),
    routing: routing.optional(),
    tools: tools.optional(),
    context: context.optional(),
  })
  .meta({ id: 'AgentChange' });
export type AgentChange = z.infer<typeof AgentChange>;
