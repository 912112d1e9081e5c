import type { TextFormat } from './text-format.ts'

/** The format of a file, by its extension; JSON with comments for any other. Its parser is loaded on first use. */
export async function loadFormat(path: string): Promise<TextFormat> {
  if (path.endsWith('.toml')) return (await import('./toml-text.ts')).TOML
  if (/\.ya?ml$/.test(path)) return (await import('./yaml-text.ts')).YAML
  return (await import('./json-text.ts')).JSON_WITH_COMMENTS
}
