import { Command } from 'commander'
import pc from 'picocolors'
import type { ServerStatus, Stats } from 'toolcrib'
import { type OpenedRegistry, type ServerFlags, withRegistry, withServerFlags } from './open-registry.ts'
import { columns, figure, plain, plural, print, printJson } from './terminal.ts'

/** `toolcrib stats`: how many tools there are, and what a turn costs with and without deferral. */
export function statsCommand(): Command {
  return withServerFlags(new Command('stats'))
    .description('Count tools, and what a turn costs with everything shown and with tools deferred.')
    .addHelpText('after', HELP)
    .action(async (flags: ServerFlags) => {
      await withRegistry(flags, {}, async (opened) => {
        const figures = await measure(opened)
        if (flags.json) printJson(figures)
        else show(figures)
        for (const status of figures.servers) noteUncounted(status)
      })
    })
}

const HELP = `
Examples:
  toolcrib stats
  toolcrib stats --json | jq .tokens

Tokens are exact (o200k). "a turn" is what a new conversation pays before anything is checked out.
Exit codes: 0 done, 1 failed, 2 wrong usage or no config.`

interface Figures extends Stats {
  readonly tokens: { readonly full: number; readonly turn: number; readonly saved_percent: number }
  /** Also those that failed, whose tools are not counted. */
  readonly servers: readonly ServerStatus[]
  readonly sources: readonly { readonly source: string; readonly tools: number; readonly tokens: number }[]
}

async function measure({ registry, statuses, countTokens }: OpenedRegistry): Promise<Figures> {
  const bySource = new Map<string, { tools: number; tokens: number }>()
  for (const { mcpServer, pluginId, source, name, description, parameters } of registry.listSchemas()) {
    const key = mcpServer ?? pluginId ?? source
    const { tools, tokens } = bySource.get(key) ?? { tools: 0, tokens: 0 }
    const cost = countTokens(JSON.stringify({ name, description, parameters }))
    bySource.set(key, { tools: tools + 1, tokens: tokens + cost })
  }
  const costOf = async (mode?: 'full') => {
    const session = await registry.openSession(mode ? { mode } : {})
    return countTokens(JSON.stringify(session.surface().tools))
  }
  const [full, turn] = [await costOf('full'), await costOf()]
  const saved_percent = full === 0 ? 0 : Number((100 * (1 - turn / full)).toFixed(1))
  const sources = [...bySource].map(([source, counts]) => ({ source, ...counts }))
  return { ...registry.stats(), tokens: { full, turn, saved_percent }, servers: statuses, sources }
}

function noteUncounted(status: ServerStatus): void {
  if (status.state !== 'failed' && status.state !== 'connecting') return
  const why = status.state === 'failed' ? `failed: ${plain(status.reason)}` : 'still connecting'
  console.error(`${pc.yellow('note')} ${status.server} is not counted: ${why}`)
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
}
