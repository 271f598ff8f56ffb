import type { INestApplicationContext } from '@nestjs/common';
import type { GatewayConfig } from '../config.ts';
import { KeysService } from '../identity/keys.service.ts';
import { PEOPLE } from '../identity/people.token.ts';
import type { People } from '../identity/people.ts';
import { UsersStore } from '../identity/users.store.ts';
import { TenantsService } from '../tenants/tenants.service.ts';
import { CONFIG } from '../tokens.ts';

/** What the first start prints as JSON. Later calls give a fresh sign-in link and no key. */
export interface BootstrapResult {
  readonly created: boolean;
  readonly tenant: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly email: string };
  /** The administrator's API key; only when it was made just now. */
  readonly key: string | null;
  /** Null when none was asked for. */
  readonly signInLink: string | null;
  /** The tenant has a model, by the configuration or by its settings. */
  readonly hasModel: boolean;
}

export interface BootstrapOptions {
  readonly email: string;
  readonly name: string;
  readonly tenantName: string;
  /** Whether a key and a link are made, and so part of the answer. */
  readonly credentials?: boolean;
}

/** A link that signs the person in once, by the fragment: it never reaches a server's log or a link previewer. */
export async function signInLink(app: INestApplicationContext, email: string): Promise<string> {
  const { issueSignInToken } = app.get<People>(PEOPLE);
  const { publicUrl } = app.get<GatewayConfig>(CONFIG);
  return `${publicUrl}/#sign-in=${await issueSignInToken(email)}`;
}

/** First start: tenant, owner, key. Idempotent: with a tenant already there it only makes a new one-time link for its owner. */
export async function bootstrap(
  app: INestApplicationContext,
  { credentials = true, ...options }: BootstrapOptions,
): Promise<BootstrapResult> {
  const link = (email: string) => (credentials ? signInLink(app, email) : null);
  const tenants = app.get(TenantsService);
  const users = app.get(UsersStore);
  const existing = await tenants.oldest();
  if (existing) {
    const hasModel = await tenants.refreshModel(existing);
    const owner = await tenants.firstOwner(existing.id);
    const user = (owner && (await users.findById(owner))) ?? (await users.findByEmail(options.email));
    if (!user) throw new Error(`the tenant ${existing.name} has no owner`);
    return {
      created: false,
      tenant: existing,
      user: { id: user.id, email: user.email },
      key: null,
      signInLink: await link(user.email),
      hasModel,
    };
  }
  const user = (await users.findByEmail(options.email)) ?? (await users.create(options.email, options.name));
  let key: string | null = null;
  const tenant = await tenants.create(options.tenantName, user.id, {
    more: async (tx) => {
      if (!credentials) return;
      const made = await app
        .get(KeysService)
        .insert(tx, { actor: 'system' }, { name: 'first start', role: 'owner', userId: user.id });
      key = made.key;
    },
  });
  return {
    created: true,
    tenant,
    user: { id: user.id, email: user.email },
    key,
    signInLink: await link(user.email),
    hasModel: await tenants.refreshModel(tenant),
  };
}
