import type { Session, Tool, ToolRegistry, ToolResult } from '@toolcrib/core'
import { isRecord, isSearchTool } from '@toolcrib/core/internal'
import type { Inspection } from '../inspection.ts'
import { TOUR_SESSION } from '../record/history.ts'
import { reading, writing } from './route.ts'
import { streamOf } from './stream.ts'

/** A question that a tool of the user's own servers answers. */
interface Scene {
  readonly says: string
  readonly tool: string
  /** It only reads and needs no arguments, so it can be called. */
  readonly isHarmless: boolean
}

/** No tool can do this: a search for it shows what a model reads then. */
const MISS = { says: 'Order me a pizza.', query: 'pizza delivery' }

/** How many servers the conversation asks something of. */
const SCENES = 2

/** One tool for each of a few servers; best one that can be called. */
function scenesOf(registry: ToolRegistry): Scene[] {
  const byServer = new Map<string, Scene>()
  for (const { name, mcpServer, description } of registry.listSchemas()) {
    const says = (/^[^.\n]*/.exec(description.trim())?.[0] ?? '').slice(0, 120)
    if (mcpServer === undefined || says === '') continue
    const scene = { says, tool: name, isHarmless: isHarmless(registry.get(name)) }
    const known = byServer.get(mcpServer)
    if (!known || (!known.isHarmless && scene.isHarmless)) byServer.set(mcpServer, scene)
  }
  return [...byServer.values()].sort((a, b) => Number(b.isHarmless) - Number(a.isHarmless)).slice(0, SCENES)
}

function isHarmless(tool: Tool | undefined): boolean {
  const schema = tool?.inputSchema
  const required = isRecord(schema) ? schema.required : undefined
  return tool?.annotations?.readOnlyHint === true && !(Array.isArray(required) && required.length > 0)
}

/** One line of a conversation that plays. */
export type PlayLine =
  | { readonly kind: 'person' | 'model'; readonly text: string }
  | { readonly kind: 'search'; readonly query: string; readonly found: readonly string[] }
  | { readonly kind: 'call'; readonly tool: string; readonly ok: boolean; readonly text: string }
  | { readonly kind: 'end'; readonly text: string }

/** The name of the client whose sessions the conversation plays in. */
const TOUR = 'The tour'
const PAUSE_MS = 700
const MAY_CHANGE =
  'I know this tool now, and could call it. This conversation calls only tools that say that they just read.'
const NOTHING_FOUND = 'None of my tools can do that. The search is now a miss that you can look at.'
const NOTHING_FITS =
  'None of these can do that. The Search view shows why they were found, and takes a hint for a better one.'

/** Whether a server has tools to play with. */
export function canPlay(registry: ToolRegistry): boolean {
  return scenesOf(registry).length > 0
}

/** Whether the guide has something to show. */
export const guide = reading({}, ({ registry }) => ({ canPlay: canPlay(registry) }))

/** Plays the conversation in a separate session, so that every view has something to show. */
export const play = writing({}, async (inspection, _input, { signal }) => {
  const { registry, history, schedule, now } = inspection
  const gone = new AbortController()
  const stream = streamOf('application/x-ndjson', () => gone.abort())
  const id = `${TOUR_SESSION}${now()}`
  history.name(id, TOUR)
  const session = await registry.openSession({ id, mode: 'lazy', strategy: 'dispatch', memory: false })
  // It represents a client, which sees slightly more than a session: the gateway's tools that call others.
  const { fingerprint } = session.surface()
  await inspection.turnTokens.note({ fingerprint, tools: await inspection.toolsShown() })
  const playAll = async () => {
    for await (const line of conversation(inspection, session, scenesOf(registry))) {
      if (gone.signal.aborted || signal.aborted) return
      stream.send(`${JSON.stringify(line)}\n`)
      await new Promise<void>((resolve) => schedule(PAUSE_MS, resolve))
    }
  }
  playAll().then(stream.end, stream.end)
  return stream.response
})

/** Plays the conversation in a session: each scene searches, then calls what it found if that only reads. */
async function* conversation(
  inspection: Inspection,
  session: Session,
  scenes: readonly Scene[],
): AsyncGenerator<PlayLine> {
  let calls = 0
  const execute = async (name: string, args: Readonly<Record<string, unknown>>) => {
    const [called] = await inspection.run(session, { toolCallId: `demo-${++calls}`, name, args })
    return called?.result
  }
  const search = async (query: string) => {
    const name = session.surface().tools.find((tool) => isSearchTool(tool.name))?.name ?? 'tool_search'
    return foundIn(await execute(name, { query }))
  }
  for (const { says, tool, isHarmless } of scenes) {
    yield { kind: 'person', text: says }
    yield { kind: 'search', query: says, found: await search(says) }
    if (!isHarmless) {
      yield { kind: 'model', text: MAY_CHANGE }
      continue
    }
    session.surface()
    const result = await execute(tool, {})
    const text = result?.ok ? result.value : (result?.error ?? '')
    yield { kind: 'call', tool, ok: result?.ok === true, text: text.slice(0, 240) }
  }
  yield { kind: 'person', text: MISS.says }
  const found = await search(MISS.query)
  yield { kind: 'search', query: MISS.query, found }
  yield { kind: 'model', text: found.length === 0 ? NOTHING_FOUND : NOTHING_FITS }
  yield { kind: 'end', text: `That was a conversation of ${scenes.length + 1} questions.` }
}

/** The names that a search found. */
function foundIn(result: ToolResult | undefined): readonly string[] {
  const { activated = [], matches = [] } = (result?.ok ? (result.structured ?? {}) : {}) as {
    readonly activated?: readonly string[]
    readonly matches?: readonly { readonly name: string }[]
  }
  return activated.length > 0 ? activated : matches.map(({ name }) => name)
}
