/**
 * What does a conversation cost in tools? Thirty turns over 500 and over all tools, replayed through the cache rules
 * of each provider: full mode, and the three strategies. Once with twelve activations, once with five times as many.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { anthropic } from '../src/dialects/anthropic.ts'
import type { Dialect } from '../src/dialects/dialect.ts'
import type { ProviderVoice } from '../src/dialects/dialect-contract.ts'
import { gemini } from '../src/dialects/gemini.ts'
import { openaiChat } from '../src/dialects/openai-chat.ts'
import { openaiResponses } from '../src/dialects/openai-responses.ts'
import { foundTools } from '../src/dialects/search-answer.ts'
import { toWireName } from '../src/dialects/wire-names.ts'
import { splitName } from '../src/names.ts'
import type { Session } from '../src/session/session.ts'
import type { Strategy, Surface } from '../src/session/surface.ts'
import { exactTokenCounter, type TokenCounter } from '../src/tokens.ts'
import type { Tool } from '../src/tool.ts'
import { ToolRegistry } from '../src/tool-registry.ts'
import { anthropicVoice } from '../test/dialects/wire-server/voices/anthropic.ts'
import { geminiVoice } from '../test/dialects/wire-server/voices/gemini.ts'
import { chatVoice } from '../test/dialects/wire-server/voices/openai-chat.ts'
import { NATIVE_SEARCH, responsesVoice } from '../test/dialects/wire-server/voices/openai-responses.ts'
import { printTable } from './report.ts'

const GOAL_PERCENT = 95
const DUMPS = join(import.meta.dirname, '../../shared/data/mcp-dumps')

/** US dollars a million input tokens, as listed by each provider. Cached prefixes start at `minTokens`. */
const PRICES = {
  // Claude Opus 5, platform.claude.com, read 2026-11-15.
  anthropic: { input: 5, cached: 0.5, cacheWrite: 6.25, minTokens: 1_024, block: 1 },
  // GPT-6 Sol, short context, listed from 2026-09-22. Cached in blocks of 128 tokens.
  openai: { input: 2, cached: 0.2, cacheWrite: 2.5, minTokens: 1_024, block: 128 },
  // Gemini 3 Pro, short context, listed from 2025-11-18.
  gemini: { input: 2, cached: 0.2, cacheWrite: 2, minTokens: 4_096, block: 1 },
} as const
type Prices = (typeof PRICES)[keyof typeof PRICES]

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const countTokens = memoized(await exactTokenCounter())
  const catalogue = existsSync(DUMPS) ? realTools() : generatedTools(2_600)
  const scripts = smoke ? [{ turns: 8, searches: 2, limit: 3 }] : SCRIPTS
  for (const size of smoke ? [60] : [500, catalogue.length]) {
    const tools = sample(catalogue, size)
    for (const script of scripts) {
      const { turns, searches, limit } = script
      console.log(`cache: ${turns} turns, ${searches} searches for ${limit} tools each, of ${tools.length}`)
      const rows = []
      for (const plan of PLANS) rows.push(await measure(plan, tools, script, countTokens))
      report(rows, smoke)
    }
  }
}

interface Script {
  readonly turns: number
  readonly searches: number
  readonly limit: number
}

const SCRIPTS: readonly Script[] = [
  { turns: 30, searches: 4, limit: 3 },
  { turns: 30, searches: 12, limit: 5 },
]

interface Plan {
  readonly provider: string
  readonly way: 'full' | Strategy
  readonly prices: Prices
  converse(tools: readonly ServerTool[], script: Script): Promise<readonly Prompt[]>
}

const PLANS: readonly Plan[] = [
  ...(['full', 'append', 'dispatch', 'native'] as const).flatMap((way) => [
    plan('anthropic', way, PRICES.anthropic, anthropic(), anthropicVoice),
    plan('openai-responses', way, PRICES.openai, openaiResponses(), responsesVoice),
  ]),
  ...(['append', 'dispatch'] as const).flatMap((way) => [
    plan('openai-chat', way, PRICES.openai, openaiChat({ maxTools: Number.POSITIVE_INFINITY }), chatVoice),
    plan('gemini', way, PRICES.gemini, gemini(), geminiVoice),
  ]),
].sort((first, second) => first.provider.localeCompare(second.provider))

interface Row {
  readonly provider: string
  readonly way: string
  readonly toolTokens: number
  readonly fullPrice: number
  readonly cachedPrice: number
  readonly dollars: number
  readonly lostTurns: number
}

async function measure(
  { provider, way, prices, converse }: Plan,
  tools: readonly ServerTool[],
  script: Script,
  countTokens: TokenCounter,
): Promise<Row> {
  let before: readonly Segment[] = []
  let [toolTokens, fullPrice, cachedPrice, dollars, lostTurns] = [0, 0, 0, 0, 0]
  for (const { segments } of await converse(tools, script)) {
    const total = sum(segments, countTokens)
    const shared = sum(segments.slice(0, commonLength(before, segments)), countTokens)
    const cached = shared < prices.minTokens ? 0 : shared - (shared % prices.block)
    // A conversation only grows, so whatever of the last request is not shared was lost.
    if (shared < sum(before, countTokens)) lostTurns++
    toolTokens += sum(
      segments.filter(({ isTool }) => isTool),
      countTokens,
    )
    fullPrice += total - cached
    cachedPrice += cached
    dollars += (cached * prices.cached + (total - cached) * prices.cacheWrite) / 1_000_000
    before = segments
  }
  return { provider, way, toolTokens, fullPrice, cachedPrice, dollars, lostTurns }
}

function report(rows: readonly Row[], smoke: boolean): void {
  const fulls = rows.filter(({ way }) => way === 'full')
  const saved = ({ provider, toolTokens }: Row) => {
    // Chat and Gemini take no request with all tools; they are held against the first provider that does.
    const full = fulls.find((row) => row.provider === provider) ?? fulls[0]
    return 100 - (100 * toolTokens) / (full?.toolTokens ?? Number.NaN)
  }
  printTable(
    rows.map((row) => ({
      provider: row.provider,
      way: row.way,
      'tool tokens': row.toolTokens,
      'fewer than full': `${saved(row).toFixed(1)}%`,
      'written, full price': row.fullPrice,
      'read from cache': row.cachedPrice,
      dollars: row.dollars.toFixed(3),
      'turns that lost the prefix': row.lostTurns,
    })),
  )
  const constant = rows.filter(({ way }) => way === 'dispatch' || way === 'native')
  const least = Math.min(...constant.map(saved))
  const lost = constant.reduce((count, { lostTurns }) => count + lostTurns, 0)
  // A handful of tools is not what the goal speaks of.
  const isMet = (smoke || least >= GOAL_PERCENT) && lost === 0
  console.log(
    `  dispatch and native: at least ${least.toFixed(1)}% fewer (goal: ${GOAL_PERCENT}%), ${lost} turns lost (goal: 0)${isMet ? '' : '  MISSED'}`,
  )
}

/** A piece of what the model reads. */
interface Segment {
  readonly text: string
  /** A tool's definition, wherever it stands: shown, referred to, or in a search's answer. */
  readonly isTool: boolean
}

interface Prompt {
  readonly segments: readonly Segment[]
}

function plan<Message, Request extends object, Response, StreamEvent>(
  provider: string,
  way: Plan['way'],
  prices: Prices,
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
): Plan {
  const search = provider === 'openai-responses' && way === 'native' ? NATIVE_SEARCH : 'tool_search'
  async function converse(tools: readonly ServerTool[], script: Script): Promise<Prompt[]> {
    const { turns, limit } = script
    const session = await openSession(tools, way)
    const messages: Message[] = [dialect.userMessage('Help me with my work today.')]
    const prompts: Prompt[] = []
    let found: string | undefined
    for (let turn = 0; turn < turns; turn++) {
      const surface = session.surface()
      const request = dialect.toRequest({ surface, messages, system: SYSTEM, note: session.promptNote() })
      prompts.push({ segments: toSegments(request, surface) })
      const target = tools[(turn * 37) % tools.length]
      const isSearch = way !== 'full' && isSearchTurn(turn, script)
      const query = splitName(target?.tool.name ?? '').join(' ')
      const call = isSearch
        ? { name: search, args: { query, limit } }
        : callOf(found ?? `mcp__${target?.server}__${target?.tool.name}`, way, dialect.name, messages)
      const response = voice.respond({
        text: 'Let me look.',
        calls: [{ id: `c${turn}`, name: call.name, args: JSON.stringify(call.args) }],
      })
      const results = await session.execute(dialect.toCalls(response, surface))
      if (isSearch) found = foundTools(results[0]?.result.structured)[0] ?? found
      messages.push(...dialect.toMessages(response, results, surface))
    }
    return prompts
  }
  return { provider, way, prices, converse }
}

/** Searches are spread over the conversation; the turns between use what was found. */
function isSearchTurn(turn: number, { turns, searches }: Script): boolean {
  return Math.floor((turn * searches) / turns) !== Math.floor(((turn - 1) * searches) / turns)
}

const SYSTEM = 'You are a careful assistant. '.repeat(200)

async function openSession(tools: readonly ServerTool[], way: Plan['way']): Promise<Session> {
  const registry = new ToolRegistry({ maxIdenticalCalls: 0 })
  const servers = new Map<string, Tool[]>()
  for (const { server, tool } of tools) servers.set(server, [...(servers.get(server) ?? []), tool])
  for (const [server, own] of servers) registry.syncMcp(server, own)
  return registry.openSession(way === 'full' ? { mode: 'full' } : { mode: 'lazy', strategy: way })
}

function callOf(name: string, way: Plan['way'], dialect: string, messages: readonly unknown[]) {
  if (way === 'dispatch') return { name: 'call_tool', args: { name, arguments: {} } }
  if (dialect !== 'openai-responses' || way !== 'native') return { name: toWireName(name), args: {} }
  // The namespace stands in the answer that loaded the tool.
  const spaces = (messages as { tools?: { name: string; tools: { name: string }[] }[] }[]).flatMap(
    ({ tools = [] }) => tools,
  )
  const home = spaces.find(({ tools }) => tools.some((tool) => tool.name === toWireName(name)))
  return { name: `${home?.name}::${toWireName(name)}`, args: {} }
}

/** What the model reads of a request, in order: tools, system prompt, messages. Deferred tools are not read. */
function toSegments(request: object, surface: Surface): readonly Segment[] {
  const { tools, config, system, instructions, messages, contents, input } = request as Record<
    string,
    unknown
  >
  const settings = config as
    | { tools?: { functionDeclarations: unknown[] }[]; systemInstruction?: string }
    | undefined
  const shown = (tools ?? settings?.tools?.flatMap((tool) => tool.functionDeclarations) ?? []) as object[]
  const definitions = new Map(
    [...surface.tools, ...(surface.deferredTools ?? [])].map((tool) => [
      toWireName(tool.name),
      JSON.stringify(tool),
    ]),
  )
  return [
    ...shown
      .filter((tool) => !('defer_loading' in tool))
      .map((tool) => ({ text: render(tool), isTool: true })),
    ...[system, instructions, settings?.systemInstruction]
      .filter((text) => text !== undefined)
      .map((text) => ({ text: render(text), isTool: false })),
    ...((messages ?? contents ?? input) as unknown[]).flatMap((message) =>
      messageSegments(message, definitions),
    ),
  ]
}

/** A message; what a search answered counts as tools, and references as the definitions put in their place. */
function messageSegments(message: unknown, definitions: ReadonlyMap<string, string>): readonly Segment[] {
  const text = render(message)
  const isSearchAnswer = text.includes('tool_search_output') || text.includes('"activated":')
  const referred = [...text.matchAll(/"tool_reference","tool_name":"([^"]+)"/g)].map(([, name = '']) => ({
    text: definitions.get(name) ?? '',
    isTool: true,
  }))
  return [{ text, isTool: isSearchAnswer }, ...referred]
}

/** About what the model reads: a text inside a message is read as it is, not as JSON escapes it. */
function render(value: unknown): string {
  return JSON.stringify(value).replaceAll('\\"', '"').replaceAll('\\n', '\n')
}

function commonLength(first: readonly Segment[], second: readonly Segment[]): number {
  const index = second.findIndex(({ text }, place) => first[place]?.text !== text)
  return index < 0 ? second.length : index
}

function sum(segments: readonly Segment[], countTokens: TokenCounter): number {
  return segments.reduce((tokens, { text }) => tokens + countTokens(text), 0)
}

function memoized(count: TokenCounter): TokenCounter {
  const known = new Map<string, number>()
  return (text) => {
    const tokens = known.get(text) ?? count(text)
    known.set(text, tokens)
    return tokens
  }
}

interface ServerTool {
  readonly server: string
  readonly tool: Tool
}

function realTools(): readonly ServerTool[] {
  const files = readdirSync(DUMPS).filter((file) => file.endsWith('.json') && !file.startsWith('_'))
  return files.sort().flatMap((file) => {
    const { tools } = JSON.parse(readFileSync(`${DUMPS}/${file}`, 'utf8')) as { tools: Tool[] }
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    return [...byName.values()].map(({ name, description, inputSchema }) => ({
      server: file.replace('.json', ''),
      tool: toTool(name, description ?? '', inputSchema ?? {}),
    }))
  })
}

function generatedTools(count: number): readonly ServerTool[] {
  return Array.from({ length: count }, (_, index) => ({
    server: `server${index % 60}`,
    tool: toTool(`do_thing_${index}`, `Does thing number ${index}, with care. `.repeat(4), {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, place) => [
          `field_${place}`,
          { type: 'string', description: 'What it holds.' },
        ]),
      ),
    }),
  }))
}

function toTool(name: string, description: string, inputSchema: Tool['inputSchema']): Tool {
  const value = 'A line of what the tool found out. '.repeat(20)
  return { name, description, inputSchema, execute: () => ({ ok: true, value }) }
}

/** So many tools, spread over the whole catalogue. */
function sample(tools: readonly ServerTool[], size: number): readonly ServerTool[] {
  if (size >= tools.length) return tools
  return Array.from({ length: size }, (_, index) => tools[Math.floor((index * tools.length) / size)]).filter(
    (tool) => tool !== undefined,
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
