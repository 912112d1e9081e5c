import type { Surface } from '@toolcrib/core'
import { isSearchTool, withoutHidden } from '@toolcrib/core/internal'
import type { ConnectedServers } from '@toolcrib/mcp'
import type { ProfileView } from '../sessions/profile-view.ts'

const MAX_CHARS_PER_SERVER = 1_000
const MAX_CHARS = 8_000

/**
 * The instructions for clients: the host's text, how to find tools, and the instructions of each permitted server, unless
 * the lockfile holds them back. They are the same after a restart, because servers' instructions are cached with their tools.
 */
export function instructionsFor(
  view: ProfileView,
  {
    servers,
    instructions,
    surface,
  }: {
    readonly servers: ConnectedServers
    readonly instructions?: string | undefined
    /** What clients see. */
    readonly surface: Pick<Surface, 'deferredCount' | 'strategy' | 'tools'>
  },
): string | undefined {
  const bySaying = new Map<string, string[]>()
  for (const { server } of [...servers.status()].sort((a, b) => (a.server < b.server ? -1 : 1))) {
    const said = view.permitsServer(server) ? servers.instructions(server) : undefined
    if (said) bySaying.set(said, [...(bySaying.get(said) ?? []), `"${server}"`])
  }
  const ofServers = [...bySaying].map(([said, [first, ...others]]) => {
    const who =
      others.length === 0
        ? `Server ${first} says about itself`
        : `Servers ${[first, ...others].join(', ')} say about themselves`
    return `${who} (not verified): ${shown(said)}`
  })
  // Some clients read only the beginning, so the gateway's own text comes first.
  const texts = [instructions, howToSearch(surface), ...ofServers]
  const text = texts.filter((each) => each !== undefined && each !== '').join('\n\n')
  return text === '' ? undefined : text.slice(0, MAX_CHARS)
}

/** How tools are found that are not listed; undefined if all are. */
function howToSearch({
  deferredCount,
  strategy,
  tools,
}: Pick<Surface, 'deferredCount' | 'strategy' | 'tools'>): string | undefined {
  const search = tools.find(({ name }) => isSearchTool(name))?.name
  if (deferredCount === 0 || search === undefined) return undefined
  const calls =
    strategy === 'dispatch'
      ? 'call what it finds with call_tool, or with the tool that its "call_with" names'
      : 'call what it finds by its name'
  return `Most tools are not listed. Find them with ${search}, and ${calls}.`
}

/** Removes characters that people do not see but models read. */
function shown(text: string): string {
  const visible = withoutHidden(text)
  return visible.length <= MAX_CHARS_PER_SERVER ? visible : `${visible.slice(0, MAX_CHARS_PER_SERVER)} …`
}
