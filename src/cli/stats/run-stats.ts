import pc from 'picocolors'
import {
  exactTokenCounter,
  type ServerStatus,
  type Stats,
  type TokenCounter,
  type ToolDefinition,
  type ToolSchema,
} from 'toolcrib'
import { definitionTokens } from '../definition-tokens.ts'
import type { ModeFlags, RefreshFlags, ServerFlags } from '../flags.ts'
import { isNoneThere, noteMissing } from '../missing-servers.ts'
import { type OpenedRegistry, remembering, withRegistry } from '../open-registry.ts'
import { columns, figure, plural, print, printJson } from '../terminal.ts'

export interface StatsFlags extends ServerFlags, ModeFlags, RefreshFlags {}

/** `toolcrib stats`: how many tools there are, and what a turn costs with and without deferral. */
export async function runStats(flags: StatsFlags): Promise<void> {
  const countTokens = await exactTokenCounter()
  await withRegistry(flags, remembering(flags), async (opened) => {
    const figures = await measure(opened, countTokens)
    opened.signal.throwIfAborted()
    if (flags.json) printJson(figures)
    else if (!isNoneThere(opened.statuses)) show(figures)
    process.exitCode = noteMissing(opened.statuses, 'counted')
  })
}

interface Figures extends Stats {
  readonly tokens: {
    /** All tools, without those about tools. */
    readonly full: number
    /** What the first turn shows. */
    readonly turn: number
    /** What of it goes to tools about tools, by name. */
    readonly meta_tools: Readonly<Record<string, number>>
    readonly saved_percent: number
  }
  /** Also those that failed, whose tools are not counted. */
  readonly servers: readonly ServerStatus[]
  readonly sources: readonly { readonly source: string; readonly tools: number; readonly tokens: number }[]
}

async function measure({ registry, statuses }: OpenedRegistry, countTokens: TokenCounter): Promise<Figures> {
  const costOf = (tools: readonly ToolDefinition[]) => definitionTokens(tools, countTokens)
  const bySource = new Map<string, ToolSchema[]>()
  for (const schema of registry.listSchemas()) {
    const key = schema.mcpServer ?? schema.pluginId ?? schema.source
    bySource.set(key, [...(bySource.get(key) ?? []), schema])
  }
  const sources = [...bySource].map(([source, tools]) => ({
    source,
    tools: tools.length,
    tokens: costOf(tools),
  }))
  const shown = (await registry.openSession()).surface().tools
  const metaTools = shown.filter(({ name }) => !registry.has(name))
  const [full, turn] = [costOf(registry.toDefinitions()), costOf(shown)]
  return {
    ...registry.stats(),
    tokens: {
      full,
      turn,
      meta_tools: Object.fromEntries(metaTools.map((tool) => [tool.name, costOf([tool])])),
      saved_percent: full === 0 ? 0 : Number((100 * (1 - turn / full)).toFixed(1)),
    },
    servers: statuses,
    sources,
  }
}

function show({ total_registered, loaded, deferred, deferred_mode, tokens, sources }: Figures): void {
  const mode = deferred_mode ? 'tools are deferred' : 'everything is shown'
  print(
    `${pc.bold(`${figure(total_registered)} tools`)}: ${figure(loaded)} shown, ${figure(deferred)} deferred (${mode})`,
  )
  print()
  const rows = sources.map(({ source, tools, tokens }) => [
    `  ${pc.cyan(source)}`,
    plural(tools, 'tool'),
    plural(tokens, 'token'),
  ])
  for (const line of columns(rows, { rightAligned: [1, 2] })) print(line)
  print()
  print(`  with everything shown  ${pc.bold(figure(tokens.full))} tokens a turn`)
  print(
    `  as configured          ${pc.bold(figure(tokens.turn))} tokens a turn${tokens.saved_percent > 0 ? pc.green(`  ${tokens.saved_percent} % less`) : ''}`,
  )
  for (const [name, cost] of Object.entries(tokens.meta_tools))
    print(pc.dim(`    of these ${figure(cost)} are for ${name}`))
}
