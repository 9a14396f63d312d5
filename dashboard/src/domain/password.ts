/** Without letters and digits that are easily taken for each other. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'
const GROUPS = 5
const GROUP = 4

/** A password that nobody guesses and that can be read out: 100 random bits in groups of four. */
export function suggestPassword(): string {
  const random = crypto.getRandomValues(new Uint8Array(GROUPS * GROUP))
  // 32 letters: every byte falls on each of them equally often.
  const text = [...random].map((byte) => LETTERS[byte % LETTERS.length]).join('')
  return (text.match(new RegExp(`.{${GROUP}}`, 'g')) ?? []).join('-')
}
