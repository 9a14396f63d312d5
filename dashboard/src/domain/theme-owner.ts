/** The tenant of a theme: the longest tenant ID that its name equals or starts with. */
export function ownerOf(theme: string, tenants: readonly string[]): string | undefined {
  const fitting = tenants.filter((tenant) => theme === tenant || theme.startsWith(`${tenant}-`))
  return fitting.toSorted((one, other) => other.length - one.length)[0]
}
