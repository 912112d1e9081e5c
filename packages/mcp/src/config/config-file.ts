import { ToolcribError } from '@toolcrib/core'
import { hasMoreKeys } from '@toolcrib/core/internal'
import { type ReadFile, readJson } from './json-file.ts'

/** The data of a config file, and the lines it came from. */
export interface ConfigFile extends ReadFile {
  readonly path: string
  readonly format: 'toml' | 'json'
}

/** The maximum size of a config: parsing takes time, and many times its size in memory. */
export const MAX_CONFIG_BYTES = 2 * 1024 * 1024
/** The maximum number of keys, tables and lists, which take far longer to parse than text. A key may have ten parts. */
const MAX_CONFIG_KEYS = 10_000

/**
 * Parses TOML when the name ends in `.toml`, otherwise JSON with comments and trailing commas. Rejects with
 * `config-invalid` and the line number for invalid syntax, and for text over 2 MiB or 10,000 keys, tables and lists.
 */
export async function parseConfigFile(text: string, path: string): Promise<ConfigFile> {
  if (text.length > MAX_CONFIG_BYTES) throw tooLarge(path)
  const source = text.replace(/^\uFEFF/, '')
  if (hasMoreKeys(source, MAX_CONFIG_KEYS) || source.split('.').length > MAX_CONFIG_KEYS * 10)
    throw tooManyKeys(path)
  if (!path.endsWith('.toml')) return { path, format: 'json', ...readJson(source, path) }
  // Loading a parser takes longer than parsing.
  const { readToml } = await import('./toml-file.ts')
  return { path, format: 'toml', ...readToml(source, path) }
}

function tooManyKeys(path: string): ToolcribError {
  const limit = MAX_CONFIG_KEYS.toLocaleString('en-US')
  return new ToolcribError(
    'config-invalid',
    `${path}: is nested too deeply, or has more than ${limit} keys, tables and lists; keep only the config in it`,
  )
}

/** Returns the `config-invalid` error for a file over the limit. */
export function tooLarge(path: string): ToolcribError {
  const limit = `${MAX_CONFIG_BYTES / 1024 / 1024} MiB`
  return new ToolcribError('config-invalid', `${path} is larger than ${limit}; keep only the config in it`)
}
