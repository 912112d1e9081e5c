import type { CallResult, ToolRegistry, ToolResult, ToolSchema } from '@toolcrib/core'
import pc from 'picocolors'
import { unknownServer } from '../servers/unknown-server.ts'
import { findWithFlags, type ReadyRegistry, withRegistry } from '../servers/with-registry.ts'
import type { RegistryFlags, ServerFlags } from '../terminal/flags.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { plain, plainLines, shellWord, toolName } from '../terminal/text.ts'
import { forSchema, readArguments, type TypedArguments, unknownArguments } from './call-arguments.ts'
import { type CallProgress, callProgress } from './call-progress.ts'
import { describeUnknown, findTool, serversNamed } from './find-tool.ts'
import { requireWritable, writeOut } from './write-out.ts'

export interface CallFlags extends ServerFlags, RegistryFlags {
  readonly arg?: readonly string[]
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly out?: string
}

/**
 * Calls one tool, through the same checks as a model's call. What is cached is enough to find the tool, so that only its
 * server has to run; servers that are not cached are asked.
 */
export async function runCall(
  terminal: Terminal,
  name: string,
  args: readonly string[],
  flags: CallFlags,
): Promise<number> {
  const typed = await readArguments(terminal, args, flags.arg ?? [])
  await requireWritable(terminal, flags)
  const found = await findWithFlags(terminal, flags)
  const { servers: configured, layers = [] } = found.config
  const named = serversNamed(name, Object.keys(configured))
  const [disabled] = serversNamed(
    name,
    layers.flatMap(({ servers }) => servers),
  )
  if (named.length === 0 && disabled !== undefined) throw unknownServer(disabled, { servers: [], layers })
  const isServerNamed = named.length > 0
  const progress = callProgress(name, { stream: terminal.errors })
  const isEnough = (registry: ToolRegistry) => registry.resolve(name).length > 0
  const call = (ready: ReadyRegistry) => callOnce(terminal, ready, { name, typed, flags, progress })
  const options = {
    found,
    servers: (server: string) => !isServerNamed || named.includes(server),
    isEnough,
    // Another server may have a tool of the same name, so a name without a server waits for what else is cached.
    lingerMs: isServerNamed ? 0 : OTHERS_MS,
    ...(isServerNamed ? {} : { waitMs: SEARCH_MS }),
    onEvent: progress.note,
  }
  const exitCode = await withRegistry(terminal, flags, { ...options, remembered: true }, async (ready) => {
    const isUnasked = ready.statuses.some(
      ({ server, state }) => state === 'cold' || ready.servers.failure(server) !== undefined,
    )
    return isServerNamed && isUnasked && !isEnough(ready.registry) ? undefined : call(ready)
  })
  if (exitCode !== undefined) return exitCode
  // The server that the name begins with is asked now, although it is cached, or failed a moment ago. Warnings have been shown.
  return withRegistry(terminal, flags, { ...options, found: { ...found, warnings: [] } }, call)
}

/** How long servers that are not cached have to list a tool whose name says nothing about its server. */
const SEARCH_MS = 10_000

/** How long servers have to say that they have a tool of the same name. */
const OTHERS_MS = 500

interface OneCall {
  readonly name: string
  readonly typed: TypedArguments
  readonly flags: CallFlags
  readonly progress: CallProgress
}

async function callOnce(
  terminal: Terminal,
  { registry, statuses, signal }: ReadyRegistry,
  { name, typed, flags, progress }: OneCall,
): Promise<number> {
  const tool = findTool(registry, name)
  const args = forSchema(typed, tool?.parameters)
  const stray = unknownArguments(args, tool?.parameters)
  if (stray !== undefined) terminal.warn(`${plain(`${name} ${stray}`)}`)
  const call = { toolCallId: 'call-1', name: tool?.name ?? name, args }
  // --timeout ends the call even while its server reports progress.
  const deadline = flags.timeout === undefined ? undefined : AbortSignal.timeout(flags.timeout)
  const context = {
    sessionId: 'cli',
    resultBudgetChars: ENOUGH,
    dryRun: flags.dryRun === true,
    onAsk: () => (flags.yes ? 'once' : { result: unapproved(name) }),
    signal: deadline ? AbortSignal.any([signal, deadline]) : signal,
  }
  const stopNote = noteLongCall(terminal, name, flags)
  const [answer] = await progress.during(registry.executeParallel([call], context)).finally(stopNote)
  signal.throwIfAborted()
  if (!answer) throw new Error('a call has no result')
  const timely = deadline?.aborted ? asTimeout(answer, flags.timeout) : answer
  const unknown = tool ? undefined : describeUnknown(name, registry, statuses)
  const explained = withNextStep(tool ? withShownName(timely, tool) : timely, tool, unknown)
  const written = await writeOut(terminal, explained, flags)
  if (flags.json) terminal.printJson(explained)
  else show(terminal, explained, written)
  return exitCodeOf(explained, tool !== undefined)
}

/** Where no terminal shows that a call goes on, one line says so. Returns how to take it back. */
function noteLongCall(terminal: Terminal, name: string, { timeout }: CallFlags): () => void {
  const { errors, patienceMs, schedule } = terminal
  if (errors.isTTY || patienceMs === Number.POSITIVE_INFINITY) return () => {}
  const step = timeout === undefined ? ', --timeout <ms> limits it' : ''
  return schedule(patienceMs, () =>
    terminal.warn(`waiting for the result of ${plain(name)}; Ctrl-C cancels it${step}`),
  )
}

/** Whoever types the command sees the call: it is asked about by a flag. */
function unapproved(name: string): ToolResult {
  const error = `"${plain(name)}" needs a person's approval, because "ask" of your config names it. Nothing was run; to run it, add --yes`
  return { ok: false, code: 'denied', error }
}

/** People can scroll, so nothing is trimmed for them. */
const ENOUGH = 100_000_000

/** A call that `--timeout` cancelled has timed out. */
function asTimeout(answer: CallResult, timeoutMs: number | undefined): CallResult {
  const { result, name } = answer
  if (result.ok || result.code !== 'cancelled') return answer
  const error = `"${name}" did not respond within ${timeoutMs} ms`
  return { ...answer, result: { ...result, code: 'timeout', error } }
}

/** Names the tool `server.tool`, as other commands do, in texts that the server did not write. */
function withShownName(answer: CallResult, { name, mcpServer }: ToolSchema): CallResult {
  const { result } = answer
  const shown = toolName(name, mcpServer)
  if (!result.ok)
    return result.code === 'execution_failed'
      ? answer
      : { ...answer, result: { ...result, error: result.error.replaceAll(name, () => shown) } }
  const dryRun = `[dry run] ${name} `
  if (!result.value.startsWith(dryRun)) return answer
  return {
    ...answer,
    result: { ...result, value: `[dry run] ${shown} ${result.value.slice(dryRun.length)}` },
  }
}

/** Adds the next step for a person at a terminal, which differs from that for a model. */
function withNextStep(
  answer: CallResult,
  tool: ToolSchema | undefined,
  unknown: string | undefined,
): CallResult {
  const { result } = answer
  if (result.ok) return answer
  const explained = (error: string): CallResult => ({ ...answer, result: { ...result, error } })
  if (unknown !== undefined) return explained(unknown)
  if (result.code === 'timeout') return explained(`${result.error}\nincrease the limit with --timeout <ms>`)
  if (result.code !== 'input_invalid' || tool?.mcpServer === undefined) return answer
  const own = toolName(tool.name, tool.mcpServer)
  return explained(`${result.error}\nsee its schema with "toolcrib list ${shellWord(own)} --schema"`)
}

function show(terminal: Terminal, { result, durationMs }: CallResult, written: readonly string[]): void {
  if (!result.ok) {
    terminal.note(`${pc.red('error')} ${plainLines(result.error)}`)
    return
  }
  if (written.length > 0) terminal.note(`${pc.green('written')} ${written.join(', ')}`)
  else {
    terminal.print(terminal.output.isTTY ? plainLines(result.value) : result.value)
    const others = result.content?.filter(({ type }) => type !== 'text') ?? []
    const types = others.map(({ type }) => type).join(', ')
    if (others.length > 0)
      terminal.note(pc.dim(`also: ${types}; write it to a file with --out, or see it with --json`))
  }
  if (terminal.errors.isTTY) terminal.note(pc.dim(`${Math.round(durationMs)} ms`))
}

function exitCodeOf({ result }: CallResult, isKnown: boolean): number {
  if (result.ok) return 0
  return !isKnown || result.code === 'input_invalid' ? 2 : 1
}
