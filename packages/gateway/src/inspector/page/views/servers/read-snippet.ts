/** A server as the fields of a form have it; what it does not have is empty. */
export interface Snippet {
  readonly name: string
  readonly url: string
  readonly header: string
  readonly command: string
  /** Its variables, as flags of `toolcrib add`: `--env API_KEY=…`. */
  readonly env: string
}

/** Reads the first server of a snippet in the form that READMEs show; undefined for anything else. */
export function readSnippet(text: string): Snippet | undefined {
  const data = parse(text)
  if (data === undefined) return undefined
  const table = Object(data.mcpServers ?? data.servers ?? data)
  const [[name, server] = ['', undefined]] =
    'url' in table || 'command' in table ? [['', table]] : Object.entries(table)
  const { url, command, args, headers, env } = Object(server)
  if (typeof url !== 'string' && typeof command !== 'string') return undefined
  const [header] = Object.entries(Object(headers)).map(([key, value]) => `${key}: ${value}`)
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === 'string')
  return {
    name,
    url: typeof url === 'string' ? url : '',
    header: header ?? '',
    command: words.map(quoted).join(' '),
    env: Object.entries(Object(env))
      .map(([key, value]) => `--env ${quoted(`${key}=${value}`)} `)
      .join(''),
  }
}

/** The name of a server in a registry, such as `io.github.owner/server`, or its address there; undefined for anything else. */
export function registryName(text: string): string | undefined {
  const isName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+\/[\w.-]+$/i.test(text.trim())
  const isAddress = /^https?:\/\/[^\s/]+\/v0[\d.]*\/servers\/[\w.%-]+/.test(text.trim())
  return isName || isAddress ? text.trim() : undefined
}

/** For a shell: README values such as `<your key>` and `${KEY}` must not mean anything there. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!/^\s*[{"]/.test(text)) return undefined
  // Snippets are often without their outer braces.
  for (const whole of [text, `{${text.replace(/,\s*$/, '')}}`])
    try {
      return Object(JSON.parse(whole))
    } catch {}
  return undefined
}
