import { AppError } from '@moli/errors';
import type { Role } from '../database/schema.ts';

const RANK: Readonly<Record<Role, number>> = { viewer: 0, member: 1, admin: 2, owner: 3 };

export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const satisfies readonly Role[];

export function atLeast(role: Role, least: Role): boolean {
  return RANK[role] >= RANK[least];
}

/** The weaker of two roles. */
export function weaker(a: Role, b: Role): Role {
  return RANK[a] <= RANK[b] ? a : b;
}

const NAMES: Readonly<Record<Role, { zh: string; en: string }>> = {
  viewer: { zh: '只读成员', en: 'viewer' },
  member: { zh: '成员', en: 'member' },
  admin: { zh: '管理员', en: 'admin' },
  owner: { zh: '所有者', en: 'owner' },
};

/** Throws `forbidden` that says which role would do. */
export function assertRole(role: Role, least: Role): void {
  if (atLeast(role, least)) return;
  throw new AppError(
    'forbidden',
    {
      zh: `此操作需要“${NAMES[least].zh}”或更高的角色，你的角色是“${NAMES[role].zh}”。请联系团队的管理员。`,
      en: `This needs the role ${least} or higher; yours is ${role}. Ask an administrator of the team.`,
    },
    { fields: { requiredRole: least, role } },
  );
}
