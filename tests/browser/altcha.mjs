// Reads a challenge of Vestibule. Solves and verifies it with altcha-lib, and writes the solution, and a challenge of its own with
// its solution. Arguments: the secrets of signature and key.
import { text } from 'node:stream/consumers'

import { createChallenge, solveChallenge, verifySolution } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'

const [hmacSignatureSecret = '', hmacKeySignatureSecret = ''] = process.argv.slice(2)
const secrets = { deriveKey, hmacSignatureSecret, hmacKeySignatureSecret }
const challenge = JSON.parse(await text(process.stdin))
/** @param {import('altcha-lib').Challenge} challenge */
const solve = async (challenge) => {
  const solution = await solveChallenge({ challenge, deriveKey })
  if (!solution) throw new Error('no counter solves the challenge')
  return solution
}
const solution = await solve(challenge)
const { verified } = await verifySolution({ challenge, solution, ...secrets })
const { algorithm, cost, data, expiresAt } = challenge.parameters
const own = await createChallenge({ algorithm, cost, data, expiresAt, counter: 7, ...secrets })
console.log(JSON.stringify({ verified, solution, own: { challenge: own, solution: await solve(own) } }))
