import { ToolcribError } from '../../errors.ts'
import { readPlainJson } from './plain-json.ts'

/** The data of a config file, and the lines it came from. */
export interface ConfigFile {
  readonly path: string
  readonly format: 'toml' | 'json'
  readonly data: Record<string, unknown>
  /** The line of a key, counted from 1, or of the nearest enclosing table. */
  lineOf(keys: readonly string[]): number
}

/** The maximum size of a config: parsing takes time, and many times its size in memory. */
export const MAX_CONFIG_BYTES = 2 * 1024 * 1024

/**
 * Parses TOML when the name ends in `.toml`, otherwise JSON with comments and trailing commas. Rejects with
 * `config-invalid` and the line number for invalid syntax, and for text over 2 MiB.
 */
export async function parseConfigFile(text: string, path: string): Promise<ConfigFile> {
  if (text.length > MAX_CONFIG_BYTES) throw tooLarge(path)
  const source = text.replace(/^\uFEFF/, '')
  // Loading both parsers takes longer than parsing.
  if (path.endsWith('.toml')) return (await import('./toml-file.ts')).readToml(source, path)
  return readPlainJson(source, path) ?? (await import('./json-file.ts')).readJson(source, path)
}

/** Returns the `config-invalid` error for a file over the limit. */
export function tooLarge(path: string): ToolcribError {
  const limit = `${MAX_CONFIG_BYTES / 1024 / 1024} MiB`
  return new ToolcribError('config-invalid', `${path} is larger than ${limit}; keep only the config in it`)
}
