import { z } from 'zod';
import { PASSWORD_LENGTH } from './people.ts';
import { ROLES } from './roles.ts';

export const Role = z.enum(ROLES).meta({ id: 'Role' });
export const UserId = z.string().regex(/^usr_[0-9a-f]{32}$/);
export const KeyId = z.string().regex(/^key_[0-9a-f]{32}$/);

/** An address people can be invited under and sign in with. */
export const Email = z.email().max(254);
export const Password = z.string().min(PASSWORD_LENGTH.min).max(PASSWORD_LENGTH.max);
/** A name that is shown: no control characters, not only blanks. */
export const DisplayName = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}\p{Cf}]*$/u, 'no control characters');

export const SignIn = z.strictObject({ email: Email, password: z.string().min(1).max(PASSWORD_LENGTH.max) });
export const ChangePassword = z.strictObject({
  currentPassword: z.string().min(1).max(PASSWORD_LENGTH.max),
  newPassword: Password,
});
export const SetPassword = z
  .strictObject({ password: Password, currentPassword: z.string().min(1).max(PASSWORD_LENGTH.max).optional() })
  .meta({ id: 'SetPassword' });

export const User = z.object({ id: UserId, email: z.string(), name: z.string() }).meta({ id: 'User' });
export const SignedInUser = z.object({ user: User }).meta({ id: 'SignedInUser' });

const tenant = z.object({ id: z.string(), name: z.string() });
export const Me = z
  .object({
    user: User.nullable().describe('null when an API key was used'),
    tenant,
    role: Role,
    tenants: z.array(tenant.extend({ role: Role })),
    hasPassword: z.boolean().describe('Whether the person can sign in with a password; false for keys'),
  })
  .meta({ id: 'Me' });
export type Me = z.infer<typeof Me>;

export const ApiKey = z
  .object({
    id: KeyId,
    name: z.string(),
    prefix: z.string().describe('First characters of the key, to tell keys apart'),
    role: Role.describe('What the key may do at most'),
    userId: z.string().nullable(),
    createdAt: z.string(),
    lastUsedAt: z.string().nullable(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKey = z.infer<typeof ApiKey>;
export const ApiKeyList = z.object({ items: z.array(ApiKey) }).meta({ id: 'ApiKeyList' });
export const CreateKey = z.strictObject({ name: DisplayName, role: Role.optional() }).meta({ id: 'CreateKey' });
export const CreatedKey = ApiKey.extend({ key: z.string().describe('Shown this once') }).meta({ id: 'CreatedKey' });
