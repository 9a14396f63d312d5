/** The tenant whose theme it is by its name: the longest id that it has, or begins with. */
export function ownerOf(theme: string, tenants: readonly string[]): string | undefined {
  const fitting = tenants.filter((tenant) => theme === tenant || theme.startsWith(`${tenant}-`))
  return fitting.toSorted((one, other) => other.length - one.length)[0]
}
