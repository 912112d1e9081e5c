/**
 * How much do tools cost in a conversation? Replays thirty turns over 500 and over all tools through the cache rules
 * of each provider: full mode, and the three strategies. Once with twelve activations, once with five times as many.
 */
import { pathToFileURL } from 'node:url'
import { exactTokenCounter } from '@toolcrib/embedder/tokens'
import { anthropic } from '../packages/core/src/dialects/anthropic.ts'
import { gemini } from '../packages/core/src/dialects/gemini.ts'
import { openaiChat } from '../packages/core/src/dialects/openai-chat.ts'
import { openaiResponses } from '../packages/core/src/dialects/openai-responses.ts'
import type { TokenCounter } from '../packages/core/src/text.ts'
import { anthropicVoice } from '../test/dialects/wire-server/voices/anthropic.ts'
import { geminiVoice } from '../test/dialects/wire-server/voices/gemini.ts'
import { chatVoice } from '../test/dialects/wire-server/voices/openai-chat.ts'
import { responsesVoice } from '../test/dialects/wire-server/voices/openai-responses.ts'
import { loadCatalogue, type ServerTool, sample } from './cache/catalogue.ts'
import { type Converse, converser, type Script, type Way } from './cache/conversation.ts'
import { PRICES, type Prices } from './cache/prices.ts'
import type { Segment } from './cache/segments.ts'
import { printTable } from './report.ts'

const GOAL_PERCENT = 95

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const countTokens = memoized(await exactTokenCounter())
  const models = Object.entries(PRICES).map(([provider, { model }]) => `${provider}: ${model}`)
  console.log(`cache: prices of ${models.join(', ')}`)
  const catalogue = loadCatalogue()
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

const SCRIPTS: readonly Script[] = [
  { turns: 30, searches: 4, limit: 3 },
  { turns: 30, searches: 12, limit: 5 },
]

interface Plan {
  readonly provider: string
  readonly way: Way
  readonly prices: Prices
  readonly converse: Converse
}

const PLANS: readonly Plan[] = [
  ...(['full', 'append', 'dispatch', 'native'] as const).flatMap((way) => [
    {
      provider: 'anthropic',
      way,
      prices: PRICES.anthropic,
      converse: converser(way, anthropic(), anthropicVoice),
    },
    {
      provider: 'openai-responses',
      way,
      prices: PRICES.openai,
      converse: converser(way, openaiResponses({ maxTools: Number.POSITIVE_INFINITY }), responsesVoice),
    },
  ]),
  ...(['append', 'dispatch'] as const).flatMap((way) => [
    {
      provider: 'openai-chat',
      way,
      prices: PRICES.openai,
      converse: converser(way, openaiChat({ maxTools: Number.POSITIVE_INFINITY }), chatVoice),
    },
    { provider: 'gemini', way, prices: PRICES.gemini, converse: converser(way, gemini(), geminiVoice) },
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
    // A conversation only grows, so anything of the last request that is not shared was lost.
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
    // Chat and Gemini accept no request with all tools; they are compared with the first provider that does.
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
  // The goal applies only to a large catalogue.
  const isMet = (smoke || least >= GOAL_PERCENT) && lost === 0
  console.log(
    `  dispatch and native: at least ${least.toFixed(1)}% fewer (goal: ${GOAL_PERCENT}%), ${lost} turns lost (goal: 0)${isMet ? '' : '  MISSED'}`,
  )
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await run({ smoke: process.argv.includes('--smoke') })
