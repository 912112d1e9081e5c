import { parse, stringify, type TomlTable } from 'smol-toml'
import { ToolcribError } from 'toolcrib'

/** A change of one server's table in `toolcrib.toml`. */
export type ServerEdit = { readonly server: string } & (
  | { readonly kind: 'pin' | 'unpin' | 'hide' | 'show'; readonly tool: string }
  | { readonly kind: 'disable' | 'enable' }
  | { readonly kind: 'add'; readonly url: string }
)

/**
 * Returns a config file with one server's table changed, and every comment and other line as it was. Throws
 * `config-invalid` for a file that cannot be changed line by line; the text says what to write by hand.
 */
export function editServer(text: string, edit: ServerEdit): string {
  const before = tableOf(parseToml(text), edit.server)
  if (edit.kind === 'add') return addServer(text, edit, before)
  if (!before) throw invalid(`the config has no table [server.${edit.server}]`)
  const [key, value] = newValue(before, edit)
  const after = setKey(text, edit.server, key, value)
  const wanted = stringify({ ...before, [key]: value })
  // Whatever the lines look like: the file must now say this, and nothing else may have changed.
  const read = tableOf(parseToml(after), edit.server)
  if (!read || stringify(sorted(read)) !== stringify(sorted(parseToml(wanted))))
    throw invalid(`change it by hand: in [server.${edit.server}], write ${key} = ${JSON.stringify(value)}`)
  return after
}

function addServer(
  text: string,
  { server, url }: { server: string; url: string },
  before: TomlTable | undefined,
) {
  if (before) throw invalid(`there is a server "${server}" already; choose another name`)
  const name = /^[\w-]+$/.test(server) ? server : JSON.stringify(server)
  const gap = text === '' || text.endsWith('\n\n') ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  const after = `${text}${gap}[server.${name}]\nurl = ${JSON.stringify(url)}\n`
  if (tableOf(parseToml(after), server)?.url !== url)
    throw invalid('the server cannot be added here; run "toolcrib add" instead')
  return after
}

function newValue(before: TomlTable, edit: ServerEdit): [string, string[] | boolean] {
  switch (edit.kind) {
    case 'pin':
      return ['pinned', [...textsOf(before.pinned), edit.tool]]
    case 'unpin':
      return ['pinned', textsOf(before.pinned).filter((name) => name !== edit.tool)]
    case 'hide':
      return ['deny', [...textsOf(before.deny), edit.tool]]
    case 'show':
      return ['deny', textsOf(before.deny).filter((name) => name !== edit.tool)]
    default:
      return ['disabled', edit.kind === 'disable']
  }
}

/** Replaces a key of a table where it is, or adds it at the end of the table. */
function setKey(text: string, server: string, key: string, value: string[] | boolean): string {
  const lines = text.split('\n')
  const quoted = server.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const header = new RegExp(`^\\s*\\[\\s*server\\s*\\.\\s*(?:${quoted}|"${quoted}"|'${quoted}')\\s*\\]`)
  const start = lines.findIndex((line) => header.test(line))
  if (start < 0) throw invalid(`[server.${server}] is not written as a table of its own; change it by hand`)
  const written = `${key} = ${Array.isArray(value) ? `[${value.map((each) => JSON.stringify(each)).join(', ')}]` : value}`
  const next = lines.findIndex((line, at) => at > start && /^\s*\[/.test(line))
  const end = next < 0 ? lines.length : next
  const at = lines.findIndex((line, index) => index > start && index < end && isKey(line, key))
  if (at >= 0) {
    const last = lastLineOf(lines, at, end)
    return [...lines.slice(0, at), written, ...lines.slice(last + 1)].join('\n')
  }
  // After the last setting, so that the comment above the next table stays with it.
  let place = start
  for (let index = start; index < end; index++) if (/^\s*[^#\s]/.test(lines[index] ?? '')) place = index
  return [...lines.slice(0, place + 1), written, ...lines.slice(place + 1)].join('\n')
}

function isKey(line: string, key: string): boolean {
  return new RegExp(`^\\s*(?:${key}|"${key}"|'${key}')\\s*=`).test(line)
}

/** A list may go over several lines: the last of them is the one after which the brackets are closed. */
function lastLineOf(lines: readonly string[], from: number, end: number): number {
  let depth = 0
  for (let at = from; at < end; at++) {
    const bare = (lines[at] ?? '').replace(/"(?:\\.|[^"\\])*"|'[^']*'/g, '').replace(/#.*$/, '')
    depth += (bare.match(/\[/g) ?? []).length - (bare.match(/\]/g) ?? []).length
    if (depth <= 0) return at
  }
  return from
}

function tableOf(config: TomlTable, server: string): TomlTable | undefined {
  const servers = config.server
  if (typeof servers !== 'object' || servers === null || !Object.hasOwn(servers, server)) return undefined
  return (servers as Record<string, TomlTable>)[server]
}

function parseToml(text: string): TomlTable {
  try {
    return parse(text)
  } catch (cause) {
    throw new ToolcribError('config-invalid', 'the config is not valid TOML; mend it first', { cause })
  }
}

function sorted(table: TomlTable): TomlTable {
  return Object.fromEntries(Object.entries(table).sort(([first], [second]) => (first < second ? -1 : 1)))
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function invalid(message: string): ToolcribError {
  return new ToolcribError('config-invalid', message)
}
