import type { SettingsDraft } from '@/api/types'

/** A settings document that can't be read. */
export class DocumentError extends Error {
  constructor(
    readonly format: 'json' | 'toml',
    /** Line of the error, from 1, if known. */
    readonly line?: number,
  ) {
    super(`not a ${format} document`)
    this.name = 'DocumentError'
  }
}

/**
 * Reads a settings document in JSON or TOML. A JSON document starts with a brace, a TOML document never does. The TOML parser is
 * loaded on demand. Throws a [`DocumentError`].
 */
export async function readDocument(text: string): Promise<SettingsDraft> {
  // Editors on Windows add a byte order mark.
  const plain = text.replace(/^\uFEFF/, '')
  if (plain.trimStart().startsWith('{')) {
    try {
      return JSON.parse(plain) as SettingsDraft
    } catch {
      throw new DocumentError('json')
    }
  }
  const { parse, TomlError } = await import('smol-toml')
  try {
    return parse(plain) as SettingsDraft
  } catch (error) {
    throw new DocumentError('toml', error instanceof TomlError ? error.line : undefined)
  }
}
