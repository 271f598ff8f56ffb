import { z } from 'zod';
import { DisplayName, Email, Password, Role, UserId } from '../identity/identity.schema.ts';

export const Member = z
  .object({ userId: UserId, email: z.string(), name: z.string(), role: Role, createdAt: z.string() })
  .meta({ id: 'Member' });
export type Member = z.infer<typeof Member>;
export const MemberList = z.object({ items: z.array(Member) }).meta({ id: 'MemberList' });
export const ChangeMember = z.strictObject({ role: Role }).meta({ id: 'ChangeMember' });

export const InvitationId = z.string().regex(/^inv_[0-9a-f]{32}$/);
/** 256 random bits in base64url. */
export const InvitationToken = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'not an invitation token');
export const Invitation = z
  .object({ id: InvitationId, email: z.string(), role: Role, expiresAt: z.string(), createdAt: z.string() })
  .meta({ id: 'Invitation' });
export type Invitation = z.infer<typeof Invitation>;
export const InvitationList = z.object({ items: z.array(Invitation) }).meta({ id: 'InvitationList' });
export const CreateInvitation = z
  .strictObject({ email: Email, role: Role.default('member') })
  .meta({ id: 'CreateInvitation' });
export const CreatedInvitation = Invitation.extend({
  link: z.string().describe('One-time link for the person; shown this once'),
}).meta({
  id: 'CreatedInvitation',
});
export const OpenInvitation = z
  .object({ email: z.string(), tenant: z.object({ name: z.string() }), hasAccount: z.boolean() })
  .meta({ id: 'OpenInvitation' });
export type OpenInvitation = z.infer<typeof OpenInvitation>;
export const AcceptInvitation = z
  .strictObject({
    name: DisplayName,
    password: Password.describe('A new password; for an address that has an account, its password'),
  })
  .meta({ id: 'AcceptInvitation' });
