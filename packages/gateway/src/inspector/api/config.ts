import type { ServerEdit } from '../config/editable-config.ts'
import { anyText, anyTexts, flag, invalid, oneOf, text, writing } from './route.ts'

/**
 * Changes a server's table in the config: first returns a draft, then, with `confirmed` and its digest, makes the
 * change. No command can be set here: a page must never decide what runs.
 */
export const changeConfig = writing(
  {
    kind: oneOf('pin', 'unpin', 'hide', 'show', 'hint', 'disable', 'enable', 'add', 'change'),
    server: text,
    /** More servers of the same file, to disable or enable. */
    others: anyTexts,
    tool: anyText,
    hint: anyText,
    url: anyText,
    /** Sent with each request, as `Authorization: Bearer …`. */
    header: anyText,
    confirmed: flag,
    digest: anyText,
  },
  async ({ config }, { kind, server, confirmed, digest, ...more }) => {
    // A value from here is written to a file whose variables are expanded: it must not name the gateway's secrets.
    if ([server, ...Object.values(more).flat()].some((given) => given.includes('${')))
      throw invalid('a value with "${" cannot be set here; write variables into the config file yourself')
    if (!config)
      throw invalid('this gateway was opened without a config file, so nothing can be changed here')
    const edit = toEdit(kind, server, more)
    return confirmed ? config.write(edit, digest) : config.draft(edit)
  },
)

function toEdit(
  kind: ServerEdit['kind'],
  server: string,
  {
    others,
    tool,
    hint,
    url,
    header,
  }: {
    readonly others: readonly string[]
    readonly tool: string
    readonly hint: string
    readonly url: string
    readonly header: string
  },
): ServerEdit {
  if (kind === 'enable' || kind === 'disable') return { kind, server, others }
  if (kind !== 'add' && kind !== 'change') {
    if (tool === '') throw invalid('tool must be the name of a tool')
    if (hint.length > MAX_HINT) throw invalid(`a hint has at most ${MAX_HINT} characters`)
    return kind === 'hint' ? { kind, server, tool, hint: hint.trim() } : { kind, server, tool }
  }
  const isSame = kind === 'change' && url === ''
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isWeb && !isSame) throw invalid('url must be an address such as https://example.com/mcp')
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/i.test(server))
    throw invalid('a name has letters, digits, - and _, such as "github"')
  return {
    kind,
    server,
    ...(isSame ? {} : { url }),
    ...(header.trim() === '' ? {} : { headers: toHeaders(header) }),
  }
}

function toHeaders(line: string): Readonly<Record<string, string>> {
  const [, name, value] = /^\s*([\w-]+):\s*(\S.*)$/.exec(line) ?? []
  if (name !== undefined && value !== undefined) return { [name]: value.trim() }
  throw invalid('a header has a name and a value, such as "Authorization: Bearer 1234"')
}

const MAX_HINT = 500
