import pc from 'picocolors'
import { exactTokenCounter, type Session, type ToolcribEvent } from 'toolcrib'
import { connectableClients } from 'toolcrib/clients'
import { clientPlace } from '../client-place.ts'
import { orAborted, untilSignal } from '../interrupt.ts'
import type { Terminal } from '../terminal.ts'
import { columns, cut, figure, plain, plural } from '../text.ts'
import { TokenCounts } from '../token-counts.ts'
import { WaitLine } from '../wait-line.ts'
import { openScene, type Scene } from './scenes.ts'

/** Walks through one conversation, turn by turn, on servers that it starts itself. */
export async function runTour(terminal: Terminal, { json }: { readonly json?: boolean }): Promise<number> {
  const figures = await untilSignal(terminal.signals, (signal) =>
    openAndWalk(terminal, signal, (line) => {
      if (!json && !signal.aborted) terminal.say(line)
    }),
  )
  if (json) terminal.printJson(figures)
  return 0
}

/** What the tour measured. */
export interface TourFigures {
  readonly catalogue: Scene['kind']
  readonly tools: number
  readonly servers: number
  readonly fullTokens: number
  readonly lazyTokens: number
  readonly afterSearchTokens: number
  readonly found: readonly string[]
  readonly answers: readonly string[]
  readonly evicted: readonly string[]
}

/** How many tools the tour's session keeps: few enough that one is evicted before the end. */
const MAX_ACTIVE = 3

async function openAndWalk(
  terminal: Terminal,
  signal: AbortSignal,
  say: (line?: string) => void,
): Promise<TourFigures> {
  const countTokens = await exactTokenCounter()
  const events: ToolcribEvent[] = []
  const waiting = new WaitLine(terminal)
  waiting.show('starting servers', 'at most half a minute; Ctrl-C stops it')
  const { cwd, env, schedule } = terminal
  const opening = openScene({ countTokens, onEvent: (event) => events.push(event) }, { cwd, env, schedule })
  try {
    const scene = await orAborted(opening, signal)
    waiting.stop()
    const counts = new TokenCounts(terminal)
    const figures = await orAborted(walk(scene, { events, say, counts, width: terminal.width }), signal)
    say(`\n${pc.dim(`Next: ${await nextStep(terminal, scene.kind)}`)}`)
    return figures
  } finally {
    waiting.stop()
    await (await opening).close()
  }
}

interface Walk {
  readonly events: readonly ToolcribEvent[]
  readonly say: (line?: string) => void
  readonly counts: TokenCounts
  /** Characters per line. */
  readonly width: number
}

async function walk(scene: Scene, { events, say, counts, width }: Walk): Promise<TourFigures> {
  const { registry } = scene
  let step = 0
  const heading = (text: string) => say(`\n${pc.bold(pc.cyan(`${++step}. ${text}`))}`)

  say(
    pc.bold(`A registry of ${plural(registry.size, 'tool')} from ${plural(scene.servers.length, 'server')}`),
  )
  say(pc.dim(`${scene.intro}: ${scene.servers.join(', ')}`))

  heading('Full mode: every schema, every turn')
  const full = await registry.openSession({ mode: 'full' })
  const fullTokens = await counts.sum(registry.toDefinitions())
  say(`   ${plural(registry.size, 'tool')} on the surface, ${tokens(fullTokens)} per turn`)
  for (const metaTool of full.surface().tools.filter(({ name }) => !registry.has(name)))
    say(pc.dim(`   (plus the meta-tool ${metaTool.name}: ${figure(await counts.sum([metaTool]))} tokens)`))

  heading('Lazy mode: a search tool, and the tools the session has checked out')
  const lazy = await registry.openSession({ mode: 'lazy', maxActive: MAX_ACTIVE })
  const lazyTokens = await counts.sum(lazy.surface().tools)
  say(
    `   ${plural(lazy.surface().tools.length, 'tool')} on the surface, ${tokens(lazyTokens)} per turn ${saved(lazyTokens, fullTokens)}`,
  )

  heading(`The model searches: "${scene.query}"`)
  const found = await searchAsModel(lazy, { query: scene.query, limit: 3 })
  for (const line of matchLines(found, width)) say(line)
  const [first] = (await lazy.search(scene.query, { limit: 1 })).matches
  if (first) say(pc.dim(`   why the first: ${first.reasons.join('; ')}`))

  heading('The next turn shows what it found')
  const afterSearchTokens = await counts.sum(lazy.surface().tools)
  say(
    `   ${lazy
      .surface()
      .tools.map(({ name }) => name)
      .join(', ')}`,
  )
  say(`   ${tokens(afterSearchTokens)} per turn ${saved(afterSearchTokens, fullTokens)}`)

  if (scene.calls.length > 0)
    heading(scene.calls.length > 1 ? 'It calls tools, one of them without a search' : 'It calls a tool')
  const answers: string[] = []
  for (const [index, call] of scene.calls.entries()) {
    const [answer] = await lazy.execute([{ toolCallId: `call-${index + 1}`, ...call }])
    if (!answer) throw new Error('a call has no result')
    const text = answer.result.ok ? answer.result.value : answer.result.error
    answers.push(text)
    say(`   ${pc.green(call.name)} ${pc.dim(JSON.stringify(call.args))}`)
    say(`   → ${plain(text)} ${pc.dim(`(${Math.round(answer.durationMs)} ms)`)}`)
  }

  heading(
    `It searches "${scene.laterQuery}"; ${MAX_ACTIVE} tools may be active, and the least recently used make room`,
  )
  const later = await searchAsModel(lazy, { query: scene.laterQuery, limit: 2 })
  for (const line of matchLines(later, width)) say(line)
  const evicted = events.flatMap((event) => (event.type === 'evicted' ? event.names : []))
  say(`   evicted: ${evicted.length === 0 ? 'none' : pc.yellow(evicted.join(', '))}`)

  heading('What the session costs')
  for (const line of lazy.context().split('\n')) say(`   ${line}`)

  return {
    catalogue: scene.kind,
    tools: registry.size,
    servers: scene.servers.length,
    fullTokens,
    lazyTokens,
    afterSearchTokens,
    found: found.map(({ name }) => name),
    answers,
    evicted,
  }
}

/** The next step that the user has not taken yet. */
async function nextStep(terminal: Terminal, kind: Scene['kind']): Promise<string> {
  if (kind !== 'own')
    return '"toolcrib" copies the servers you use elsewhere into one config, and lets your programs use them through one gateway.'
  const clients = await connectableClients(clientPlace(terminal))
  const own = clients.filter(({ isThere, isOfProject }) => isThere && !isOfProject)
  const serve = '"toolcrib serve --open" shares the servers between your programs, and opens a page.'
  if (own.length > 0 && own.every(({ isConnected }) => isConnected)) return serve
  return `"toolcrib connect" lets your programs use these servers through one gateway. ${serve}`
}

interface FoundTool {
  readonly name: string
  readonly score: number
  readonly description: string
}

async function searchAsModel(
  session: Session,
  args: { query: string; limit: number },
): Promise<readonly FoundTool[]> {
  const [answer] = await session.execute([{ toolCallId: 'search', name: 'tool_search', args }])
  if (!answer?.result.ok) throw new Error(`tool_search failed: ${JSON.stringify(answer)}`)
  return (answer.result.structured as { matches: readonly FoundTool[] }).matches
}

function matchLines(found: readonly FoundTool[], lineWidth: number): string[] {
  const width = Math.max(0, ...found.map(({ name }) => name.length))
  const rest = Math.max(20, Math.min(lineWidth, 110) - width - 14)
  const rows = found.map(({ name, score, description }) => [
    `   ${score < 0.01 ? '<0.01' : score.toFixed(2)}`,
    pc.green(name),
    pc.dim(cut(plain(description), rest)),
  ])
  return columns(rows, { rightAligned: [0] })
}

function tokens(count: number): string {
  return `${pc.bold(figure(count))} tokens`
}

function saved(count: number, of: number): string {
  return pc.green(`(${(100 * (1 - count / of)).toFixed(1)} % less than full mode)`)
}
