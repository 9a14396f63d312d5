/** Without similar letters and digits. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'
const GROUPS = 5
const GROUP = 4

/** A readable random password: 100 bits in groups of four characters. */
export function suggestPassword(): string {
  const random = crypto.getRandomValues(new Uint8Array(GROUPS * GROUP))
  // 256 is a multiple of 32, so all letters are equally likely.
  const text = [...random].map((byte) => LETTERS[byte % LETTERS.length]).join('')
  return (text.match(new RegExp(`.{${GROUP}}`, 'g')) ?? []).join('-')
}
