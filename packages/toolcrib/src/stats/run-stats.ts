import type { ServerStatus, Stats, ToolSchema } from '@toolcrib/core'
import pc from 'picocolors'
import { gatewayCost } from '../gateway/gateway-cost.ts'
import { isNoneThere, noteMissing, noteQuarantined, quarantinedTools } from '../servers/missing-servers.ts'
import { TokenCounts } from '../servers/token-counts.ts'
import { type ReadyRegistry, remembering, withRegistry } from '../servers/with-registry.ts'
import type { RefreshFlags, RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, figure, plural } from '../terminal/text.ts'

export interface StatsFlags extends ServerFlags, RegistryFlags, RefreshFlags {}

/** Counts the tools, and the cost of a turn with and without deferral. */
export async function runStats(terminal: Terminal, flags: StatsFlags): Promise<number> {
  return withRegistry(terminal, flags, remembering(flags), async (ready) => {
    const figures = await measure(ready, new TokenCounts(terminal))
    ready.signal.throwIfAborted()
    if (flags.json) terminal.printJson(figures)
    else if (!isNoneThere(ready.statuses)) show(terminal, figures)
    noteQuarantined(terminal, ready.registry, 'shown to a model')
    return noteMissing(terminal, ready.statuses, 'counted', ready.apiStatuses)
  })
}

interface Figures extends Stats {
  readonly tokens: {
    /** All tools, without meta-tools. */
    readonly full: number
    /** The tools that the first turn shows. */
    readonly turn: number
    /** The meta-tools among them, by name. */
    readonly meta_tools: Readonly<Record<string, number>>
    readonly saved_percent: number
    /** What a client of the gateway is shown. */
    readonly gateway: number
  }
  /** Names of tools that changed since they were approved: counted, but never shown to a model. */
  readonly quarantined: readonly string[]
  /** Includes failed servers, whose tools are not counted. */
  readonly servers: readonly ServerStatus[]
  readonly sources: readonly { readonly source: string; readonly tools: number; readonly tokens: number }[]
}

async function measure(ready: ReadyRegistry, counts: TokenCounts): Promise<Figures> {
  const { registry, statuses } = ready
  const shown = (await registry.openSession()).surface().tools
  const metaTools = shown.filter(({ name }) => !registry.has(name))
  const [full, turn] = [await counts.sum(registry.toDefinitions()), await counts.sum(shown)]
  const metaTokens = await counts.each(metaTools)
  return {
    ...registry.stats(),
    tokens: {
      full,
      turn,
      meta_tools: Object.fromEntries(metaTools.map(({ name }, at) => [name, metaTokens[at] ?? 0])),
      saved_percent: full === 0 ? 0 : Number((100 * (1 - turn / full)).toFixed(1)),
      gateway: (await gatewayCost(ready, counts)).tokens,
    },
    quarantined: quarantinedTools(registry),
    servers: statuses,
    sources: await sourcesOf(registry.listSchemas(), counts),
  }
}

/** The most expensive first. */
async function sourcesOf(schemas: readonly ToolSchema[], counts: TokenCounts): Promise<Figures['sources']> {
  const sources = new Map<string, { tools: number; tokens: number }>()
  const tokensOf = await counts.each(schemas)
  for (const [at, { mcpServer, pluginId, api, source: kind }] of schemas.entries()) {
    const source = mcpServer ?? pluginId ?? api ?? kind
    const { tools, tokens } = sources.get(source) ?? { tools: 0, tokens: 0 }
    sources.set(source, { tools: tools + 1, tokens: tokens + (tokensOf[at] ?? 0) })
  }
  return [...sources].map(([source, cost]) => ({ source, ...cost })).sort((a, b) => b.tokens - a.tokens)
}

function show(terminal: Terminal, figures: Figures): void {
  const { total_registered, loaded, deferred, quarantined, tokens, sources } = figures
  const held = quarantined.length > 0 ? pc.yellow(`, ${figure(quarantined.length)} in quarantine`) : ''
  const counts = `${figure(loaded)} shown, ${figure(deferred)} deferred${held}`
  terminal.say(`${pc.bold(plural(total_registered, 'tool'))}: ${counts}`)
  terminal.print()
  const rows = sources.map(({ source, tools, tokens }) => [
    `  ${pc.cyan(source)}`,
    plural(tools, 'tool'),
    plural(tokens, 'token'),
  ])
  for (const line of columns(rows, { rightAligned: [1, 2] })) terminal.print(line)
  terminal.print()
  terminal.print(`  with everything shown  ${pc.bold(figure(tokens.full))} tokens per turn`)
  terminal.print(
    `  as configured          ${pc.bold(figure(tokens.turn))} tokens per turn${tokens.saved_percent > 0 ? pc.green(`  ${tokens.saved_percent} % less`) : ''}`,
  )
  for (const [name, cost] of Object.entries(tokens.meta_tools))
    terminal.print(pc.dim(`    ${figure(cost)} of these for ${name}`))
  terminal.print(`  through the gateway    ${pc.bold(figure(tokens.gateway))} tokens per turn`)
}
