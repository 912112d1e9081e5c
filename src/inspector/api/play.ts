import type { Session, ToolRegistry, ToolResult } from 'toolcrib'
import { PAGE_SESSION } from '../record/history.ts'
import { reading, writing } from './route.ts'
import { streamOf } from './stream.ts'

/** A scripted conversation, for users without a connected client. It only reads. */
interface Scene {
  /** What the user asks. */
  readonly says: string
  /** What the model searches for. */
  readonly query: string
  /** What it then calls: a tool of the reference servers. */
  readonly tool: string
  readonly args: (known: Known) => Readonly<Record<string, unknown>>
  /** Whether the result of the previous scene is suitable for this one. */
  readonly follows?: (before: string) => boolean
}

/** What the conversation knows when a scene calls its tool. */
interface Known {
  /** A folder that the file server may read. */
  readonly folder: string
  /** What the previous scene returned. */
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
  'None of these can do that. The Search view shows why they were found, and takes a hint for a better one.'

/** Whether the bundled servers are connected. */
export function canPlay(registry: ToolRegistry): boolean {
  return SCRIPT.every(({ tool }) => tool === '' || registry.has(tool))
}

/** Whether the guide has something to show. */
export const guide = reading({}, ({ registry }) => ({ canPlay: canPlay(registry) }))

/** Plays the conversation in a separate session, so that every view has something to show. */
export const play = writing({}, async (inspection, _input, { signal }) => {
  const { registry, history, schedule, now } = inspection
  let isGone = false
  const stream = streamOf('application/x-ndjson', () => {
    isGone = true
  })
  const id = `demo:${now()}`
  history.name(id, TOUR)
  const session = await registry.openSession({ id, mode: 'lazy', strategy: 'dispatch', memory: false })
  // It represents a client, which sees slightly more than a session: the gateway's second door.
  const { fingerprint } = session.surface()
  await inspection.turnTokens.note({ fingerprint, tools: await inspection.toolsShown() })
  const conversation = new Conversation(session, {
    folder: readableFolder(registry),
    send: (line) => stream.send(`${JSON.stringify(line)}\n`),
    pause: () => new Promise((resolve) => schedule(PAUSE_MS, resolve)),
    isOver: () => isGone || signal.aborted,
  })
  conversation.play().then(stream.end, stream.end)
  return stream.response
})

interface Stage {
  /** A folder that the file server may read. */
  readonly folder: Promise<string>
  readonly send: (line: PlayLine) => void
  readonly pause: () => Promise<void>
  /** Whether the page was closed. */
  readonly isOver: () => boolean
}

/** Plays the script in a session: each scene searches, then calls what it found. */
class Conversation {
  readonly #session: Session
  readonly #stage: Stage
  #calls = 0

  constructor(session: Session, stage: Stage) {
    this.#session = session
    this.#stage = stage
  }

  async play(): Promise<void> {
    const { send, isOver } = this.#stage
    let before = ''
    let asked = 0
    for (const scene of SCRIPT) {
      if (isOver()) return
      if (scene.follows?.(before) === false) continue
      asked++
      before = (await this.#scene(scene, before)) ?? before
    }
    send({ kind: 'end', text: `That was a conversation of ${asked === 4 ? 'four' : 'three'} questions.` })
  }

  /** Plays one scene; returns the result of its tool, if it calls one. */
  async #scene(scene: Scene, before: string): Promise<string | undefined> {
    const { send, pause, folder } = this.#stage
    send({ kind: 'person', text: scene.says })
    await pause()
    const found = await this.#search(scene.query)
    send({ kind: 'search', query: scene.query, found })
    await pause()
    if (scene.tool === '') {
      send({ kind: 'model', text: found.length === 0 ? NOTHING_FOUND : NOTHING_FITS })
      return undefined
    }
    this.#session.surface()
    const result = await this.#execute(scene.tool, scene.args({ folder: await folder, before }))
    const text = result?.ok ? result.value : (result?.error ?? '')
    send({ kind: 'call', tool: scene.tool, ok: result?.ok === true, text: text.slice(0, 240) })
    await pause()
    return text
  }

  /** The names that a search finds. */
  async #search(query: string): Promise<readonly string[]> {
    const { tools } = this.#session.surface()
    const name = tools.find((tool) => /search/i.test(tool.name))?.name ?? 'tool_search'
    const result = await this.#execute(name, { query })
    const { activated = [], matches = [] } = (result?.ok ? (result.structured ?? {}) : {}) as {
      readonly activated?: readonly string[]
      readonly matches?: readonly { readonly name: string }[]
    }
    return activated.length > 0 ? activated : matches.map((match) => match.name)
  }

  async #execute(name: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult | undefined> {
    const [called] = await this.#session.execute([{ toolCallId: `demo-${++this.#calls}`, name, args }])
    return called?.result
  }
}

/** The first file of a listing whose beginning can be read. */
function fileIn(listing: string): string | undefined {
  return /^\[FILE\] (.+\.(?:md|txt|json|toml))$/m.exec(listing)?.[1]
}

/** The first folder that the file server may read, which depends on the config. */
async function readableFolder(registry: ToolRegistry): Promise<string> {
  const call = { toolCallId: 'demo-folder', name: 'mcp__files__list_allowed_directories', args: {} }
  const [called] = await registry.executeParallel([call], { sessionId: `${PAGE_SESSION}tour` })
  const text = called?.result.ok ? called.result.value : ''
  return /^(?:\/|[A-Za-z]:).*$/m.exec(text)?.[0] ?? '.'
}
