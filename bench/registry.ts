import { pathToFileURL } from 'node:url'
import { type SessionDialect, type Surface, type Tool, ToolRegistry } from 'toolcrib'
import { anthropic } from 'toolcrib/anthropic'
import { gemini } from 'toolcrib/gemini'
import { openaiChat } from 'toolcrib/openai-chat'
import { openaiResponses } from 'toolcrib/openai-responses'
import { median, printTable, ratio } from './report.ts'

/** How does the cost of registering, of a turn's surface, and of a session with each dialect grow with the catalogue? */
export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  console.log('\nRegistry: how cost grows')
  const sizes = smoke ? [1_000, 4_000] : [10_000, 40_000]
  const registering = sizes.map((size) => ({
    size,
    ms: median(smoke ? 3 : 7, () => timeMs(() => register(size))),
  }))
  printTable(
    registering.map(({ size, ms }) => ({
      'tools registered one by one': size,
      ms: ms.toFixed(1),
      'µs per tool': ((1000 * ms) / size).toFixed(2),
    })),
  )
  const [small, large] = registering.map(({ size, ms }) => ms / size)
  console.log(
    `a tool costs ${ratio(large, small)} as much in the ${sizes[1] === 40_000 ? 'four times larger' : 'larger'} catalogue (1.0 is linear)`,
  )

  const surfaces = await Promise.all(
    [100, smoke ? 10_000 : 100_000].map(async (size) => ({ size, micros: await surfaceMicros(size, smoke) })),
  )
  printTable(
    surfaces.map(({ size, micros }) => ({ 'surface() with tools registered': size, µs: micros.toFixed(2) })),
  )
  console.log(
    `surface() costs ${ratio(surfaces[1]?.micros, surfaces[0]?.micros)} as much with ${surfaces[1]?.size.toLocaleString('en-US')} tools as with 100 (goal: under 1.5)`,
  )

  for (const size of smoke ? [2_654] : [2_654, 100_000]) {
    console.log(
      `\nSessions over ${size.toLocaleString('en-US')} tools of 50 servers; milliseconds for a turn's request`,
    )
    const rows = []
    for (const dialect of [anthropic(), openaiResponses(), openaiChat(), gemini()])
      rows.push(await sessionCosts(size, dialect, smoke ? 5 : 50))
    printTable(rows)
  }
}

type BenchDialect = SessionDialect & {
  readonly name: string
  toRequest(input: { readonly surface: Surface; readonly messages: readonly never[] }): object
}

/** What turns of many sessions cost, and how much of each is saved. */
async function sessionCosts(size: number, dialect: BenchDialect, count: number) {
  const registry = register(size)
  const open = () => registry.openSession({ dialect })
  const turn = (session: Awaited<ReturnType<typeof open>>) => timeMs(() => session.turn([]))
  const first = turn(await open())
  const sessions = await Promise.all(Array.from({ length: count }, open))
  const next = sessions.map(turn)
  const later = [...sessions, ...sessions, ...sessions].map(turn)
  for (const session of sessions) await session.activate(['mcp__server1__tool_1', 'mcp__server2__tool_2'])
  registry.registerMcp({ ...tool(0), name: 'joined_late' }, 'server7')
  const [changed = 0, ...others] = sessions.map(turn)
  const afterwards = sessions.map(turn)
  const saved = JSON.stringify(sessions[0]).length
  return {
    dialect: dialect.name,
    strategy: sessions[0]?.surface().strategy ?? '',
    'first session': first.toFixed(1),
    'other sessions': middle(next),
    'later turns': middle(later),
    'after a server changed': changed.toFixed(2),
    'other sessions then': middle(others),
    'and later': middle(afterwards),
    'saved, kB': (saved / 1000).toFixed(1),
  }
}

function middle(times: readonly number[]): string {
  return (times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN).toFixed(3)
}

function register(size: number): ToolRegistry {
  const registry = new ToolRegistry()
  for (let index = 0; index < size; index++) registry.registerMcp(tool(index), `server${index % 50}`)
  return registry
}

/** The same ten tools are active; only the number of deferred tools differs. */
async function surfaceMicros(size: number, smoke: boolean): Promise<number> {
  const registry = register(size)
  const session = await registry.openSession({ mode: 'lazy' })
  await session.activate(registry.stats().tool_names.slice(0, 10))
  const rounds = smoke ? 2_000 : 20_000
  const round = () => {
    const ms = timeMs(() => {
      for (let index = 0; index < rounds; index++) session.surface()
    })
    return (1000 * ms) / rounds
  }
  round()
  return median(5, round)
}

function tool(index: number): Tool {
  return {
    name: `tool_${index}`,
    description: `Does the thing number ${index} with a file and a message.`,
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, text: { type: 'string' } },
      required: ['path'],
    },
    execute: () => ({ ok: true, value: '' }),
  }
}

function timeMs(action: () => unknown): number {
  const start = performance.now()
  action()
  return performance.now() - start
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
