import { z } from 'zod';

export const ModelConfigId = z.string().regex(/^mdl_[0-9a-f]{32}$/, 'not a model id');

const name = z.string().trim().min(1).max(80);
/** Checked further by `readEndpoint`, which knows every form that people paste. */
const baseUrl = z.string().trim().min(1).max(500);
const model = z.string().trim().min(1).max(200);
/** Header values take visible ASCII alone; a key with a line break is a paste gone wrong. */
const apiKey = z
  .string()
  .trim()
  .max(4000)
  .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII characters without spaces');
const contextTokens = z.int().min(1000).max(10_000_000);

export const ModelConfig = z
  .object({
    id: ModelConfigId,
    name,
    baseUrl,
    model,
    hasKey: z.boolean(),
    contextTokens,
    isDefault: z.boolean(),
    scripted: z.boolean(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'ModelConfig' });
export type ModelConfig = z.infer<typeof ModelConfig>;

export const ModelConfigList = z.object({ items: z.array(ModelConfig) }).meta({ id: 'ModelConfigList' });

export const NewModelConfig = z
  .strictObject({
    name: name.optional(),
    baseUrl,
    model,
    apiKey: apiKey.optional(),
    contextTokens: contextTokens.optional(),
    isDefault: z.boolean().optional(),
  })
  .meta({ id: 'NewModelConfig' });
export type NewModelConfig = z.infer<typeof NewModelConfig>;

/** `apiKey`: left out = as it is, '' or null = none. */
export const ModelConfigChange = z
  .strictObject({
    name: name.optional(),
    baseUrl: baseUrl.optional(),
    model: model.optional(),
    apiKey: apiKey.nullable().optional(),
    contextTokens: contextTokens.optional(),
    isDefault: z.literal(true).optional(),
  })
  .meta({ id: 'ModelConfigChange' });
export type ModelConfigChange = z.infer<typeof ModelConfigChange>;

/** With `id` and without `apiKey`, the stored key of that model is used, if the address is still the same server. */
export const ModelTest = z
  .strictObject({ baseUrl, model, apiKey: apiKey.nullable().optional(), id: ModelConfigId.optional() })
  .meta({ id: 'ModelTest' });
export type ModelTest = z.infer<typeof ModelTest>;

export const ModelTestAnswer = z
  .object({
    ok: z.boolean(),
    latencyMs: z.number().optional(),
    /** The beginning of what the model said. */
    reply: z.string().optional(),
    /** Whether it called the tool that it was offered. */
    tools: z.boolean().optional(),
    problem: z.looseObject({ code: z.string(), title: z.string(), detail: z.string() }).optional(),
    models: z.array(z.string()).optional(),
  })
  .meta({ id: 'ModelTestAnswer' });
export type ModelTestAnswer = z.infer<typeof ModelTestAnswer>;
