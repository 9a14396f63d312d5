/** Stands for the requested host in the name of a queue or a tenant. */
const HOST = '{host}'

/** The name of a queue or a tenant as operators see it: the ID if there is none, or if each host has its own. */
export const shownName = (name: string | null | undefined, id: string): string => (!name || name.includes(HOST) ? id : name)
