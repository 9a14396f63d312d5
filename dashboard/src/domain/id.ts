/** Maximum length of an ID. */
const ID_MAX = 63

/** An ID for a name: lowercase letters, digits and hyphens. */
export function idFrom(name: string): string {
  const plain = name.toLowerCase().replaceAll('ß', 'ss').replaceAll(/[äöü]/g, (letter) => ({ ä: 'ae', ö: 'oe', ü: 'ue' })[letter] ?? letter)
  const letters = plain.normalize('NFD').replaceAll(/\p{Mark}/gu, '')
  return letters.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-/, '').slice(0, ID_MAX).replace(/-$/, '')
}
