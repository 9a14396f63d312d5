/** Unpacks a ZIP archive; the library is loaded on demand. Throws if it is not one. */
export async function unzip(archive: ArrayBuffer): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const { unzipSync } = await import('fflate')
  const files = Object.entries(unzipSync(new Uint8Array(archive))) as [string, Uint8Array<ArrayBuffer>][]
  return new Map(files.filter(([path]) => !path.endsWith('/')))
}
