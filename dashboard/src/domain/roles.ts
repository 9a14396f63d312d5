import type { Role } from '@/api/types'

/** The roles of operators; each includes the permissions of the roles before it. */
export const ROLES = ['viewer', 'operator', 'superuser'] as const satisfies readonly Role[]

/** Whether a role is at most another. */
export const isWithin = (role: Role, most: Role) => ROLES.indexOf(role) <= ROLES.indexOf(most)
