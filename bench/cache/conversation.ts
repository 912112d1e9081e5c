import type { Dialect } from '../../packages/core/src/dialects/dialect.ts'
import type { ProviderVoice } from '../../packages/core/src/dialects/dialect-contract.ts'
import { readSearchAnswer } from '../../packages/core/src/meta-tools/answer.ts'
import { splitName, toWireName } from '../../packages/core/src/names.ts'
import type { Session } from '../../packages/core/src/session/session.ts'
import type { Strategy } from '../../packages/core/src/session/surface.ts'
import type { Tool } from '../../packages/core/src/tool.ts'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { NATIVE_SEARCH } from '../../test/dialects/wire-server/voices/openai-responses.ts'
import type { ServerTool } from './catalogue.ts'
import { type Segment, toSegments } from './segments.ts'

/** How long a conversation is, and what it searches for. */
export interface Script {
  readonly turns: number
  readonly searches: number
  readonly limit: number
}

/** What the model reads in one turn. */
export interface Prompt {
  readonly segments: readonly Segment[]
}

/** How tools are shown: all of them, or by a strategy. */
export type Way = 'full' | Strategy

/** Runs a conversation with the calls and searches of the script. */
export type Converse = (tools: readonly ServerTool[], script: Script) => Promise<readonly Prompt[]>

/** Runs conversations in a provider's own format, with the tools shown in one way. */
export function converser<Message, Request extends object, Response, StreamEvent>(
  way: Way,
  dialect: Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
): Converse {
  const search = dialect.name === 'openai-responses' && way === 'native' ? NATIVE_SEARCH : 'tool_search'
  return async (tools, script) => {
    const { turns, limit } = script
    const session = await openSession(tools, way)
    const messages: Message[] = [dialect.userMessage('Help me with my work today.')]
    const prompts: Prompt[] = []
    let found: string | undefined
    for (let turn = 0; turn < turns; turn++) {
      const surface = session.surface()
      const request = dialect.toRequest({ surface, messages, system: SYSTEM, note: session.promptNote() })
      prompts.push({ segments: toSegments(request) })
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
      if (isSearch) found = readSearchAnswer(results[0]?.result.structured).activated[0] ?? found
      messages.push(...dialect.toMessages(response, results, surface))
    }
    return prompts
  }
}

/** Searches are spread over the conversation; the turns between them use what was found. */
function isSearchTurn(turn: number, { turns, searches }: Script): boolean {
  return Math.floor((turn * searches) / turns) !== Math.floor(((turn - 1) * searches) / turns)
}

const SYSTEM = 'You are a careful assistant. '.repeat(200)

async function openSession(tools: readonly ServerTool[], way: Way): Promise<Session> {
  const registry = new ToolRegistry({ maxIdenticalCalls: 0 })
  const servers = new Map<string, Tool[]>()
  for (const { server, tool } of tools) servers.set(server, [...(servers.get(server) ?? []), tool])
  for (const [server, own] of servers) registry.syncMcp(server, own)
  return registry.openSession(way === 'full' ? { mode: 'full' } : { mode: 'lazy', strategy: way })
}

function callOf(name: string, way: Way, dialect: string, messages: readonly unknown[]) {
  if (way === 'dispatch') return { name: 'call_tool', args: { name, arguments: {} } }
  if (dialect !== 'openai-responses' || way !== 'native') return { name: toWireName(name), args: {} }
  // The namespace is in the response that loaded the tool.
  const spaces = (messages as { tools?: { name: string; tools: { name: string }[] }[] }[]).flatMap(
    ({ tools = [] }) => tools,
  )
  const home = spaces.find(({ tools }) => tools.some((tool) => tool.name === toWireName(name)))
  return { name: `${home?.name}::${toWireName(name)}`, args: {} }
}
