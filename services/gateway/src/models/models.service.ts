import { AppError } from '@moli/errors';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { Agent as HttpAgent } from 'undici';
import { AuditStore } from '../audit/audit.store.ts';
import type { GatewayConfig } from '../config.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { assertRole } from '../identity/roles.ts';
import { newId } from '../ids.ts';
import { Metrics } from '../metrics.ts';
import { CONFIG } from '../tokens.ts';
import { testConnection } from './connection-test.ts';
import { readEndpoint } from './endpoint.ts';
import { KeySeal } from './key-seal.ts';
import { modelAgent } from './model-client.ts';
import { contextWindowOf } from './model-settings.ts';
import type { ModelConfig, ModelConfigChange, ModelTest, ModelTestAnswer, NewModelConfig } from './models.schema.ts';
import { type ModelRow, ModelsStore, type ModelValues } from './models.store.ts';
import { OpenAiProvider } from './openai.provider.ts';
import type { ModelProvider } from './provider.types.ts';

/** The model that a turn uses. */
export interface ModelChoice {
  readonly configId: string;
  /** The name that people gave it. */
  readonly name: string;
  /** The name that its server knows. */
  readonly model: string;
  readonly contextTokens: number;
  /** A demonstration model that answers from a script; labelled wherever it shows. */
  readonly scripted: boolean;
  readonly provider: ModelProvider;
}

/** Providers kept; each holds what it learnt of its server and its model's tokens. */
const PROVIDERS_KEPT = 500;

const view = (row: ModelRow): ModelConfig => ({
  id: row.id,
  name: row.name,
  baseUrl: row.base_url,
  model: row.model,
  hasKey: row.key_sealed !== null,
  contextTokens: row.context_tokens,
  isDefault: row.is_default,
  scripted: row.scripted,
  createdAt: row.created_at.toISOString(),
});

/** The models of a tenant: their settings, their sealed keys, and providers that speak to their servers. */
@Injectable()
export class ModelsService implements OnModuleDestroy {
  readonly #seal: KeySeal;
  readonly #agent: HttpAgent = modelAgent();
  readonly #providers = new Map<string, OpenAiProvider>();

  constructor(
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(ModelsStore) private readonly store: ModelsStore,
    @Inject(AuditStore) private readonly audit: AuditStore,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {
    this.#seal = new KeySeal(config.secret);
  }

  /** Turns have ended by now; what is still open is cut. */
  async onModuleDestroy(): Promise<void> {
    await this.#agent.destroy();
  }

  /** The model for an agent: the one it names, else the tenant's default. Errors: `no_model`, `unavailable` (key does not open). */
  async pick(tx: TenantTx, agentId: string): Promise<ModelChoice> {
    const row = await this.store.ofAgent(tx, agentId);
    if (!row) throw noModel();
    return {
      configId: row.id,
      name: row.name,
      model: row.model,
      contextTokens: row.context_tokens,
      scripted: row.scripted,
      provider: this.#providerOf(row),
    };
  }

  async list(caller: Caller): Promise<ModelConfig[]> {
    return this.db.as(caller.tenantId, async (tx) => (await this.store.list(tx)).map(view));
  }

  /** The first model of a tenant becomes its default. Errors: `forbidden`, `bad_request` (address). */
  async create(caller: Caller, body: NewModelConfig): Promise<ModelConfig> {
    assertRole(caller.role, 'admin');
    return this.db.as(caller.tenantId, async (tx) => {
      const row = await this.insert(tx, caller.tenantId, body);
      await this.audit.append(tx, caller, { action: 'model.create', target: row.id, outcome: 'ok' });
      return view(row);
    });
  }

  /**
   * The model that MOLI_MODEL_* name, if they do: added as the default when the tenant has no model of that address and name, otherwise only its key is
   * brought up to date, so that what people chose in the settings stays. Answers whether the tenant has a model now. Runs in the caller's transaction.
   */
  async applyConfigured(tx: TenantTx, tenantId: string): Promise<boolean> {
    const { modelBaseUrl, modelApiKey, modelName, modelContextTokens, modelScripted } = this.config;
    const rows = await this.store.list(tx);
    if (!modelBaseUrl || !modelName) return rows.length > 0;
    const known = rows.find((row) => row.base_url === modelBaseUrl && row.model === modelName);
    if (!known) {
      const body = { baseUrl: modelBaseUrl, model: modelName, apiKey: modelApiKey, contextTokens: modelContextTokens };
      await this.insert(tx, tenantId, { ...body, isDefault: true }, modelScripted);
    } else if (modelApiKey && modelApiKey !== this.#openedKey(known)) {
      await this.store.update(tx, known.id, { key_sealed: this.#seal.seal(modelApiKey, { tenantId, id: known.id }) });
    }
    return true;
  }

  /** The key of a row, or null when it has none or was sealed under another secret. */
  #openedKey({ key_sealed, tenant_id, id }: ModelRow): string | null {
    try {
      return key_sealed && this.#seal.open(key_sealed, { tenantId: tenant_id, id });
    } catch {
      return null;
    }
  }

  private async insert(tx: TenantTx, tenantId: string, body: NewModelConfig, scripted = false): Promise<ModelRow> {
    readEndpoint(body.baseUrl, body.model);
    await this.store.lock(tx, tenantId);
    const isDefault = body.isDefault === true || (await this.store.default(tx)) === null;
    if (isDefault) await this.store.clearDefault(tx);
    const id = newId('mdl');
    return this.store.insert(tx, {
      id,
      name: body.name ?? body.model,
      base_url: body.baseUrl.trim(),
      model: body.model,
      key_sealed: body.apiKey ? this.#seal.seal(body.apiKey, { tenantId, id }) : null,
      context_tokens: body.contextTokens ?? contextWindowOf(body.model),
      is_default: isDefault,
      scripted,
    });
  }

  /** Errors: `not_found`, `forbidden`, `bad_request` (address; another server without its key). */
  async update(caller: Caller, id: string, change: ModelConfigChange): Promise<ModelConfig> {
    assertRole(caller.role, 'admin');
    return this.db.as(caller.tenantId, async (tx) => {
      await this.store.lock(tx, caller.tenantId);
      const before = await this.store.get(tx, id);
      if (!before) throw notFound();
      if (change.isDefault) await this.store.clearDefault(tx);
      const row = await this.store.update(tx, id, this.#valuesOf(caller.tenantId, before, change));
      if (!row) throw notFound();
      await this.audit.append(tx, caller, {
        action: 'model.update',
        target: id,
        outcome: 'ok',
        detail: { fields: Object.keys(change) },
      });
      return view(row);
    });
  }

  #valuesOf(tenantId: string, before: ModelRow, change: ModelConfigChange): ModelValues {
    const baseUrl = change.baseUrl ?? before.base_url;
    readEndpoint(baseUrl, change.model ?? before.model);
    if (before.key_sealed && change.apiKey === undefined && originOf(baseUrl) !== originOf(before.base_url)) {
      throw keyNeeded();
    }
    return {
      ...(change.name === undefined ? {} : { name: change.name }),
      ...(change.baseUrl === undefined ? {} : { base_url: change.baseUrl }),
      ...(change.model === undefined ? {} : { model: change.model }),
      ...(change.contextTokens === undefined ? {} : { context_tokens: change.contextTokens }),
      ...(change.isDefault ? { is_default: true } : {}),
      ...(change.apiKey === undefined
        ? {}
        : { key_sealed: change.apiKey ? this.#seal.seal(change.apiKey, { tenantId, id: before.id }) : null }),
    };
  }

  /** The oldest of the others becomes the default when the default goes. Errors: `not_found`, `forbidden`. */
  async remove(caller: Caller, id: string): Promise<void> {
    assertRole(caller.role, 'admin');
    await this.db.as(caller.tenantId, async (tx) => {
      await this.store.lock(tx, caller.tenantId);
      if (!(await this.store.delete(tx, id))) throw notFound();
      const next = (await this.store.default(tx)) ? undefined : (await this.store.list(tx))[0];
      if (next) await this.store.update(tx, next.id, { is_default: true });
      await this.audit.append(tx, caller, { action: 'model.delete', target: id, outcome: 'ok' });
    });
  }

  /** Really asks the server, with a tool offered. Never throws for what is wrong there: the answer says it. */
  async test(caller: Caller, body: ModelTest, signal?: AbortSignal): Promise<ModelTestAnswer> {
    assertRole(caller.role, 'admin');
    const apiKey = body.apiKey ?? (await this.#storedKey(caller, body));
    return testConnection({ baseUrl: body.baseUrl, model: body.model, apiKey }, this.#agent, caller.locale, signal);
  }

  /** The key of a stored model, but never for another server than it was entered for. */
  async #storedKey(caller: Caller, { id, baseUrl, apiKey }: ModelTest): Promise<string> {
    if (id === undefined || apiKey === null) return '';
    const row = await this.db.as(caller.tenantId, (tx) => this.store.get(tx, id));
    if (!row) throw notFound();
    if (!row.key_sealed) return '';
    if (originOf(row.base_url) !== originOf(baseUrl)) throw keyNeeded();
    return this.#seal.open(row.key_sealed, { tenantId: row.tenant_id, id: row.id });
  }

  #providerOf(row: ModelRow): OpenAiProvider {
    const sealed = row.key_sealed?.toString('base64') ?? '';
    const key = [row.tenant_id, row.id, row.base_url, row.model, sealed].join('\n');
    const known = this.#providers.get(key);
    if (known) return known;
    const apiKey = row.key_sealed ? this.#seal.open(row.key_sealed, { tenantId: row.tenant_id, id: row.id }) : '';
    const made = new OpenAiProvider({
      server: { baseUrl: row.base_url, apiKey, model: row.model },
      agent: this.#agent,
      observer: {
        firstToken: (seconds) => this.metrics.modelFirstTokenSeconds.observe(seconds),
        usage: ({ promptTokens, completionTokens }) => {
          this.metrics.modelTokens.inc({ kind: 'prompt' }, promptTokens);
          this.metrics.modelTokens.inc({ kind: 'completion' }, completionTokens);
        },
        settled: (outcome) => this.metrics.modelRequests.inc({ outcome }),
        failed: (code) => this.metrics.modelErrors.inc({ code }),
      },
    });
    if (this.#providers.size >= PROVIDERS_KEPT) this.#providers.delete(this.#providers.keys().next().value!);
    this.#providers.set(key, made);
    return made;
  }
}

/** Where a key is sent to. */
function originOf(baseUrl: string): string {
  return new URL(readEndpoint(baseUrl, 'any').shown).origin;
}

const notFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个模型设置，它可能已被删除。请刷新列表。',
    en: 'There is no such model; it may have been deleted. Reload the list.',
  });

const noModel = (): AppError =>
  new AppError('no_model', {
    zh: '还没有配置模型。请在“模型设置”里填写服务地址、密钥和模型名称。',
    en: 'No model is configured yet. Enter base URL, key and model name in the model settings.',
  });

const keyNeeded = (): AppError =>
  new AppError('bad_request', {
    zh: '服务地址换成了另一台服务器，请同时重新填写密钥（apiKey）；已保存的密钥不会发给别的服务器。',
    en: 'The address is another server now: enter the key (apiKey) again. A stored key is never sent to another server.',
  });
