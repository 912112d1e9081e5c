import type { ToolRegistry } from 'toolcrib'
import { PAGE_SESSION } from '../record/history.ts'
import { reading, writing } from './route.ts'
import { streamOf } from './stream.ts'

/** A scripted conversation, for those who have no client connected yet. It only reads. */
interface Scene {
  /** What the person asks. */
  readonly says: string
  /** What the model looks for. */
  readonly query: string
  /** What it then calls: a tool of the reference servers. */
  readonly tool: string
  readonly args: (known: Known) => Readonly<Record<string, unknown>>
  /** Whether what the scene before returned leaves something to ask about. */
  readonly follows?: (before: string) => boolean
}

/** What the conversation knows when a scene calls its tool. */
interface Known {
  /** A folder that the server of files may read. */
  readonly folder: string
  /** What the scene before returned. */
  readonly before: string
}

const SCRIPT: readonly Scene[] = [
  {
    says: 'Which files do I have?',
    query: 'list the files of a directory',
    tool: 'mcp__files__list_directory',
    args: ({ folder }) => ({ path: folder }),
  },
  {
    says: 'What does the first one begin with?',
    query: 'read the first lines of a text file',
    tool: 'mcp__files__read_text_file',
    follows: (before) => fileIn(before) !== undefined,
    args: ({ folder, before }) => ({ path: `${folder}/${fileIn(before)}`, head: 12 }),
  },
  {
    says: 'What is 1204 and 338 together?',
    query: 'add two numbers',
    tool: 'mcp__everything__get-sum',
    args: () => ({ a: 1204, b: 338 }),
  },
  {
    says: 'Order me a pizza.',
    query: 'pizza delivery',
    tool: '',
    args: () => ({}),
  },
]

/** One line of a conversation that plays. */
export type PlayLine =
  | { readonly kind: 'person' | 'model'; readonly text: string }
  | { readonly kind: 'search'; readonly query: string; readonly found: readonly string[] }
  | { readonly kind: 'call'; readonly tool: string; readonly ok: boolean; readonly text: string }
  | { readonly kind: 'end'; readonly text: string }

/** The name of the client whose sessions the conversation plays in. */
export const TOUR = 'The tour'
const PAUSE_MS = 700
const NOTHING_FOUND = 'None of my tools can do that. The search is now a miss that you can look at.'
const NOTHING_FITS =
  'None of these can do that. Search shows why they came, and takes a hint for a better one.'

/** Whether the bundled servers are there. */
export function canPlay(registry: ToolRegistry): boolean {
  return SCRIPT.every(({ tool }) => tool === '' || registry.has(tool))
}

/** Whether the guide has something to show. */
export const guide = reading({}, ({ registry }) => ({ canPlay: canPlay(registry) }))

/** Plays the conversation in a session of its own, so that every view has something to show. */
export const play = writing({}, async (inspection, _input, { signal }) => {
  const { registry, history, schedule, now } = inspection
  let isGone = false
  const stream = streamOf('application/x-ndjson', () => {
    isGone = true
  })
  const send = (line: PlayLine) => stream.send(`${JSON.stringify(line)}\n`)
  const pause = () => new Promise<void>((resolve) => schedule(PAUSE_MS, resolve))
  const id = `demo:${now()}`
  history.name(id, TOUR)
  const session = await registry.openSession({ id, mode: 'lazy', strategy: 'dispatch' })
  // It stands for a client, which is shown a little more than a session has: the gateway's second door.
  const { fingerprint } = session.surface()
  await inspection.turnTokens.note({ fingerprint, tools: await inspection.toolsShown() })
  const converse = async () => {
    const folder = readableFolder(registry)
    let before = ''
    let asked = 0
    for (const [index, scene] of SCRIPT.entries()) {
      if (isGone || signal.aborted) return
      if (scene.follows?.(before) === false) continue
      asked++
      send({ kind: 'person', text: scene.says })
      await pause()
      const search = session.surface().tools.find(({ name }) => /search/i.test(name))?.name ?? 'tool_search'
      const [found] = await session.execute([
        { toolCallId: `demo-search-${index}`, name: search, args: { query: scene.query } },
      ])
      const structured = found?.result.ok ? found.result.structured : undefined
      const { activated = [], matches = [] } = (structured ?? {}) as {
        readonly activated?: readonly string[]
        readonly matches?: readonly { readonly name: string }[]
      }
      const hits = activated.length > 0 ? activated : matches.map(({ name }) => name)
      send({ kind: 'search', query: scene.query, found: hits })
      await pause()
      if (scene.tool === '') {
        send({ kind: 'model', text: hits.length === 0 ? NOTHING_FOUND : NOTHING_FITS })
        continue
      }
      session.surface()
      const args = scene.args({ folder: await folder, before })
      const [called] = await session.execute([{ toolCallId: `demo-call-${index}`, name: scene.tool, args }])
      const result = called?.result
      const text = result?.ok ? result.value : (result?.error ?? '')
      before = text
      send({ kind: 'call', tool: scene.tool, ok: result?.ok === true, text: text.slice(0, 240) })
      await pause()
    }
    send({ kind: 'end', text: `That was a conversation of ${asked === 4 ? 'four' : 'three'} questions.` })
  }
  converse().then(stream.end, stream.end)
  return stream.response
})

/** The first file of a listing whose beginning can be read. */
function fileIn(listing: string): string | undefined {
  return /^\[FILE\] (.+\.(?:md|txt|json|toml))$/m.exec(listing)?.[1]
}

/** The first folder that the server of files may read: which one it is depends on the config. */
async function readableFolder(registry: ToolRegistry): Promise<string> {
  const call = { toolCallId: 'demo-folder', name: 'mcp__files__list_allowed_directories', args: {} }
  const [called] = await registry.executeParallel([call], { sessionId: `${PAGE_SESSION}tour` })
  const text = called?.result.ok ? called.result.value : ''
  return /^(?:\/|[A-Za-z]:).*$/m.exec(text)?.[0] ?? '.'
}
