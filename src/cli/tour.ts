import { Command } from 'commander'
import pc from 'picocolors'
import { exactTokenCounter, type Session, type ToolcribEvent, ToolRegistry } from 'toolcrib'
import { demoCatalogue } from './demo-catalogue.ts'

/** `toolcrib tour`: one turn after the other, on a catalogue that ships with it. */
export function tourCommand(): Command {
  return new Command('tour')
    .description(
      'Walk through a registry of a few hundred tools: full and lazy surfaces, a search, a call, an eviction.',
    )
    .option('--json', 'print the figures as JSON')
    .addHelpText('after', '\nNeeds no account, key or server. Token counts are exact (o200k).')
    .action(async (options: { json?: boolean }) => {
      const figures = await runTour(options.json ? () => {} : (line) => console.log(line))
      if (options.json) console.log(JSON.stringify(figures, null, 2))
    })
}

/** What the tour measured. */
export interface TourFigures {
  readonly tools: number
  readonly servers: number
  readonly fullTokens: number
  readonly lazyTokens: number
  readonly afterSearchTokens: number
  readonly found: readonly string[]
  readonly evicted: readonly string[]
}

async function runTour(print: (line: string) => void): Promise<TourFigures> {
  const countTokens = await exactTokenCounter()
  const costOf = (session: Session) => countTokens(JSON.stringify(session.surface().tools))
  const heading = (text: string) => print(`\n${pc.bold(pc.cyan(text))}`)

  const events: ToolcribEvent[] = []
  const registry = new ToolRegistry({ countTokens, onEvent: (event) => events.push(event) })
  const catalogue = demoCatalogue()
  for (const [server, tools] of catalogue) registry.syncMcp(server, tools)
  print(pc.bold(`A registry of ${registry.size} tools from ${catalogue.size} servers`))

  heading('1. Full mode: every schema, every turn')
  const full = await registry.openSession({ mode: 'full' })
  const fullTokens = costOf(full)
  print(`   ${full.surface().tools.length} tools on the surface, ${figure(fullTokens)} tokens a turn`)

  heading('2. Lazy mode: a search tool, and what is checked out')
  const lazy = await registry.openSession({ maxActive: 4 })
  const lazyTokens = costOf(lazy)
  print(
    `   ${lazy.surface().tools.length} tool on the surface, ${figure(lazyTokens)} tokens a turn (${saving(lazyTokens, fullTokens)} less)`,
  )

  heading('3. The model searches: "create a refund"')
  const found = await callSearch(lazy, { query: 'create a refund', limit: 3 })
  for (const { name, score, description } of found.matches)
    print(`   ${score.toFixed(1).padStart(5)}  ${pc.green(name)}  ${pc.dim(description)}`)
  const [why] = (await lazy.search('create a refund', { limit: 1 })).matches
  print(`   why the first: ${why?.reasons.join('; ')}`)

  heading('4. What it found is on the next surface')
  const afterSearchTokens = costOf(lazy)
  print(
    `   ${lazy
      .surface()
      .tools.map(({ name }) => name)
      .join(', ')}`,
  )
  print(
    `   ${figure(afterSearchTokens)} tokens a turn (${saving(afterSearchTokens, fullTokens)} less than full mode)`,
  )

  heading('5. The model calls it')
  const call = { name: 'mcp__billing__create_refund', args: { name: 'Order 1042, damaged on arrival' } }
  const [answer] = await lazy.execute([{ toolCallId: 'call-1', ...call }])
  print(`   ${call.name} ${pc.dim(JSON.stringify(call.args))}`)
  print(`   → ${answer?.result.ok ? answer.result.value : JSON.stringify(answer?.result)}`)

  heading('6. Four may be active; the least recently used makes room')
  await callSearch(lazy, { query: 'book a hotel', limit: 2 })
  const evicted = events.flatMap((event) => (event.type === 'evicted' ? event.names : []))
  print(`   evicted: ${pc.yellow(evicted.join(', '))}`)

  heading('7. What the session costs')
  for (const line of lazy.context().split('\n')) print(`   ${line}`)
  print('')
  const names = found.matches.map(({ name }) => name)
  return {
    tools: registry.size,
    servers: catalogue.size,
    fullTokens,
    lazyTokens,
    afterSearchTokens,
    found: names,
    evicted,
  }
}

interface SearchAnswer {
  readonly matches: readonly { readonly name: string; readonly score: number; readonly description: string }[]
}

async function callSearch(session: Session, args: { query: string; limit: number }): Promise<SearchAnswer> {
  const [answer] = await session.execute([{ toolCallId: 'search', name: 'tool_search', args }])
  if (!answer?.result.ok) throw new Error(`tool_search failed: ${JSON.stringify(answer)}`)
  return answer.result.structured as SearchAnswer
}

function figure(tokens: number): string {
  return pc.bold(tokens.toLocaleString('en-US'))
}

function saving(tokens: number, of: number): string {
  return `${(100 * (1 - tokens / of)).toFixed(1)} %`
}
