import { type Episode, ToolcribError, type UsageMemory } from '@toolcrib/core'
import { openUserMemory } from '@toolcrib/mcp'
import pc from 'picocolors'
import { openStores } from '../serve/open-stores.ts'
import { findWithFlags } from '../servers/with-registry.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, cut, plain, plural, toolName } from '../terminal/text.ts'
import { UsageError } from '../terminal/usage-error.ts'

export interface MemoryFlags {
  readonly config?: string
  readonly store?: string
  readonly json?: boolean
  readonly forgetTool?: string
  readonly forgetServer?: string
  readonly forgetAll?: boolean
}

/** Shows what is remembered of past use, or forgets it. */
export async function runMemory(
  terminal: Terminal,
  word: string | undefined,
  flags: MemoryFlags,
): Promise<number> {
  if (word !== undefined) throw new UsageError(describeWord(word))
  const { store, forgetTool, forgetServer, forgetAll } = flags
  if ([forgetTool, forgetServer, forgetAll].filter((flag) => flag !== undefined).length > 1)
    throw new UsageError('use one of --forget-tool, --forget-server and --forget-all')
  const { config } = await findWithFlags(terminal, flags, { optional: true })
  const stores = store === undefined ? undefined : await openStores(store, terminal)
  // What was remembered before memory was turned off can still be shown and forgotten.
  const opened = openUserMemory({ ...config, memory: true }, { env: terminal.env, store: stores?.store })
  try {
    if (opened === undefined)
      throw new ToolcribError(
        'config-invalid',
        'there is no folder for the memory; set HOME or XDG_STATE_HOME',
      )
    const isForgetting = forgetTool !== undefined || forgetServer !== undefined || forgetAll
    const memories = await withOwners(opened.memory)
    if (isForgetting) return await forget(terminal, memories, flags)
    await show(terminal, await episodesOf(memories), { isOn: config.memory !== false, json: flags.json })
    return 0
  } finally {
    await opened?.close()
    await stores?.close()
  }
}

/** Other programs have commands for what is a flag here. */
function describeWord(word: string): string {
  const step = /^(?:forget|clear|delete|remove|reset)$/.test(word)
    ? 'forget with --forget-tool, --forget-server or --forget-all'
    : word === 'export'
      ? 'export with "toolcrib memory --json"'
      : 'see "toolcrib memory --help"'
  return `"memory" takes flags only, not "${plain(word)}"; ${step}`
}

/** The memory of a config, and those of the gateway's clients with their own tokens. */
async function withOwners(memory: UsageMemory): Promise<readonly UsageMemory[]> {
  return [memory, ...(await memory.owners()).map((owner) => memory.of(owner))]
}

/** Everything they remember, strongest first. */
async function episodesOf(memories: readonly UsageMemory[]): Promise<readonly Episode[]> {
  const episodes: Episode[] = []
  for (const memory of memories) episodes.push(...(await memory.episodes()))
  return episodes.sort((a, b) => b.weight - a.weight)
}

async function forget(
  terminal: Terminal,
  memories: readonly UsageMemory[],
  flags: MemoryFlags,
): Promise<number> {
  const { forgetTool, forgetServer, json } = flags
  let count = 0
  for (const memory of memories)
    count +=
      forgetTool === undefined
        ? await memory.forget(forgetServer === undefined ? { all: true } : { server: forgetServer })
        : await forgetNamed(memory, forgetTool)
  if (json) terminal.printJson({ forgotten: count })
  else if (count > 0) terminal.say(`Forgot ${plural(count, 'request')}.`)
  const name = forgetTool ?? forgetServer
  if (count > 0 || name === undefined) {
    if (count === 0 && !json) terminal.say('Nothing was remembered.')
    return 0
  }
  terminal.note(`nothing is remembered about "${plain(name)}"; see the names with "toolcrib memory"`)
  return 1
}

/** Forgets a tool by any spelling of its name. */
async function forgetNamed(memory: UsageMemory, name: string): Promise<number> {
  const tools = new Set((await memory.episodes()).map(({ tool }) => tool))
  let count = 0
  for (const tool of tools) if (spelling(tool) === spelling(name)) count += await memory.forget({ tool })
  return count
}

/** `github.create_issue`, `github__create_issue` and `mcp__github__create_issue` are one name. */
function spelling(name: string): string {
  return name
    .replace(/^mcp__/, '')
    .replace(/[._/\s-]+/g, '_')
    .toLowerCase()
}

async function show(
  terminal: Terminal,
  episodes: readonly Episode[],
  { isOn, json = false }: { readonly isOn: boolean; readonly json?: boolean | undefined },
): Promise<void> {
  if (json) {
    terminal.printJson({ memory: isOn, episodes })
    return
  }
  if (!isOn) terminal.warn(`memory is off: the config says memory = false`)
  const tools = byTool(episodes)
  if (tools.length === 0) {
    const step = isOn ? '; it learns while "toolcrib serve" or "toolcrib chat" is used' : ''
    terminal.say(`Nothing is remembered${step}.`)
    return
  }
  terminal.say(`${pc.bold(plural(tools.length, 'tool'))} for ${plural(episodes.length, 'request')}`)
  const rows = tools.map(({ tool, source, successes, weight, lastAt }) => [
    pc.green(plain(toolName(tool, /^mcp:(.*)$/s.exec(source)?.[1]))),
    String(successes),
    new Date(lastAt).toISOString().slice(0, 10),
    weight.toFixed(2),
  ])
  const lines = columns([['tool', 'successes', 'last', 'weight'], ...rows], { rightAligned: [1, 3] })
  for (const [line, text] of lines.entries()) {
    terminal.print(line === 0 ? pc.dim(text) : text)
    for (const request of tools[line - 1]?.texts ?? [])
      terminal.print(pc.dim(`    ${cut(plain(request), terminal.width - 4)}`))
  }
}

interface RememberedTool {
  readonly tool: string
  readonly source: string
  readonly successes: number
  /** The weight of its strongest request. */
  readonly weight: number
  readonly lastAt: number
  readonly texts: readonly string[]
}

/** Strongest first, like the episodes. */
function byTool(episodes: readonly Episode[]): readonly RememberedTool[] {
  const tools = new Map<string, RememberedTool>()
  for (const { tool, source, count, weight, lastAt, text } of episodes) {
    const known = tools.get(tool)
    tools.set(tool, {
      tool,
      source,
      successes: (known?.successes ?? 0) + count,
      weight: Math.max(known?.weight ?? 0, weight),
      lastAt: Math.max(known?.lastAt ?? 0, lastAt),
      texts: [...(known?.texts ?? []), ...(text === undefined ? [] : [text])],
    })
  }
  return [...tools.values()]
}
