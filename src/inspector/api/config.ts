import type { ServerEdit } from '../config/editable-config.ts'
import { anyText, flag, invalid, oneOf, text, writing } from './route.ts'

/**
 * Changes a server's table in the config: first returns a draft, then, with `confirmed` and its digest, makes the
 * change. No command can be set here: a page must never decide what runs.
 */
export const changeConfig = writing(
  {
    kind: oneOf('pin', 'unpin', 'hide', 'show', 'hint', 'disable', 'enable', 'add'),
    server: text,
    tool: anyText,
    hint: anyText,
    url: anyText,
    confirmed: flag,
    digest: anyText,
  },
  async ({ config }, { kind, server, confirmed, digest, ...more }) => {
    if (!config)
      throw invalid('this gateway was opened without a config file, so nothing can be changed here')
    const edit = toEdit(kind, server, more)
    return confirmed ? config.write(edit, digest) : config.draft(edit)
  },
)

function toEdit(
  kind: ServerEdit['kind'],
  server: string,
  { tool, hint, url }: { readonly tool: string; readonly hint: string; readonly url: string },
): ServerEdit {
  if (kind === 'enable' || kind === 'disable') return { kind, server }
  if (kind !== 'add') {
    if (tool === '') throw invalid('tool must be the name of a tool')
    if (hint.length > MAX_HINT) throw invalid(`a hint has at most ${MAX_HINT} characters`)
    return kind === 'hint' ? { kind, server, tool, hint: hint.trim() } : { kind, server, tool }
  }
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isWeb) throw invalid('url must be an address such as https://example.com/mcp')
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/i.test(server))
    throw invalid('a name has letters, digits, - and _, such as "github"')
  return { kind, server, url }
}

const MAX_HINT = 500
