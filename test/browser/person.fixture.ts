import { randomUUID } from 'node:crypto';
import type { BrowserContextOptions } from 'playwright-core';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import { Stack } from '../support/stack.ts';

export interface Person {
  readonly email: string;
  readonly password: string;
  readonly tenantId: string;
  /** The API with a key of the person's tenant. */
  readonly api: ApiClient;
  /** Cookies of their sign-in, for new browser contexts. */
  readonly state: Exclude<BrowserContextOptions['storageState'], string | undefined>;
}

/** A new person who owns a new tenant and has accepted their invitation. */
export async function newPerson(stack = Stack.shared()): Promise<Person> {
  const mark = randomUUID().slice(0, 4);
  const tenant = await stack.otherTenant(`茉莉小店 ${mark}`);
  const email = `fang-${mark}@example.org`;
  const password = randomUUID();
  const token = await invite(stack, email, tenant.id);
  const response = await fetch(`${tenant.api.origin}/v1/invitations/${token}/accept`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: '王芳', password }),
  });
  if (!response.ok) throw new Error(`the invitation was not accepted: ${response.status} ${await response.text()}`);
  const cookies = response.headers.getSetCookie().map((line) => {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    return {
      name,
      value,
      domain: new URL(stack.place.url).hostname,
      path: '/',
      expires: -1,
      httpOnly: true,
      secure: false,
      sameSite: 'Lax' as const,
    };
  });
  return { email, password, tenantId: tenant.id, api: tenant.api, state: { cookies, origins: [] } };
}

/** Invites somebody into a tenant; answers the token of the link. */
export async function invite(stack: Stack, email: string, tenantId: string, role = 'owner'): Promise<string> {
  const [, link = ''] = await stack.command(['user', 'invite', email, '--tenant', tenantId, '--role', role]);
  return link.split('#invite=')[1] ?? '';
}
