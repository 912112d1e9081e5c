import { text } from 'node:stream/consumers'
import pc from 'picocolors'
import {
  type CallResult,
  type JsonSchema,
  type ServerStatus,
  ToolcribError,
  type ToolRegistry,
  type ToolSchema,
} from 'toolcrib'
import type { FoundConfig } from 'toolcrib/mcp'
import type { RegistryFlags, ServerFlags } from '../flags.ts'
import type { Terminal } from '../terminal.ts'
import { plain, plainLines, shellWord, toolName } from '../text.ts'
import { findWithFlags, type ReadyRegistry, withRegistry } from '../with-registry.ts'
import { type CallProgress, callProgress } from './call-progress.ts'
import { writeOut } from './write-out.ts'

export interface CallFlags extends ServerFlags, RegistryFlags {
  readonly arg?: readonly string[]
  readonly dryRun?: boolean
  readonly out?: string
}

/** Calls one tool, through the same checks as a model's call. */
export async function runCall(
  terminal: Terminal,
  name: string,
  args: readonly string[],
  flags: CallFlags,
): Promise<number> {
  const { json, pairs } = splitArguments(args, flags.arg ?? [])
  const given = await readArguments(terminal, json)
  const progress = callProgress(name, { stream: terminal.errors })
  const isEnough = (registry: ToolRegistry) => toolsNamed(name, registry).length > 0
  const call = (ready: ReadyRegistry) => callOnce(terminal, ready, { name, given, pairs, flags, progress })
  const unasked = new Set<string>()
  // Another server may have a tool of the same name, so a name without a server waits for what else is cached.
  const lingerMs = /\.|__/.test(name) ? 0 : OTHERS_MS
  // What is cached is enough to find the tool, so that only its server has to run.
  const found = await findWithFlags(terminal, flags)
  const exitCode = await withRegistry(
    terminal,
    flags,
    { found, servers: serversOf(name), isEnough, lingerMs, remembered: true, onEvent: progress.note },
    async (ready) => {
      for (const { server, state } of ready.statuses) {
        // A server that failed a moment ago is tried again when it is wanted by name.
        const isResting = ready.servers.failure(server) !== undefined && isNamed(server, name)
        if (state === 'cold' || isResting) unasked.add(server)
      }
      return isEnough(ready.registry) || unasked.size === 0 ? call(ready) : undefined
    },
  )
  if (exitCode !== undefined) return exitCode
  const servers = (server: string) => unasked.has(server)
  // Its warnings have been shown.
  const options = { found: { ...found, warnings: [] }, servers, isEnough, lingerMs, onEvent: progress.note }
  return withRegistry(terminal, flags, options, call)
}

interface OneCall {
  readonly name: string
  readonly given: Readonly<Record<string, unknown>>
  readonly pairs: readonly [string, string][]
  readonly flags: CallFlags
  readonly progress: CallProgress
}

async function callOnce(
  terminal: Terminal,
  { registry, statuses, signal }: ReadyRegistry,
  { name, given, pairs, flags, progress }: OneCall,
): Promise<number> {
  const tool = findTool(registry, name)
  const args = { ...given, ...typedPairs(pairs, tool?.parameters) }
  const call = { toolCallId: 'call-1', name: tool?.name ?? name, args }
  // --timeout ends the call even while its server reports progress.
  const deadline = flags.timeout === undefined ? undefined : AbortSignal.timeout(flags.timeout)
  const context = {
    sessionId: 'cli',
    resultBudgetChars: ENOUGH,
    dryRun: flags.dryRun === true,
    signal: deadline ? AbortSignal.any([signal, deadline]) : signal,
  }
  const [answer] = await progress.during(registry.executeParallel([call], context))
  signal.throwIfAborted()
  if (!answer) throw new Error('a call has no result')
  const timely = deadline?.aborted ? asTimeout(answer, flags.timeout) : answer
  const unknown = tool ? undefined : describeUnknown(name, registry, statuses)
  const explained = withNextStep(timely, tool, unknown)
  const written = await writeOut(terminal, explained, flags)
  if (flags.json) terminal.printJson(explained)
  else show(terminal, explained, written)
  return exitCodeOf(explained, tool !== undefined)
}

/** People can scroll, so nothing is trimmed for them. */
const ENOUGH = 100_000_000

/** How long servers have to say that they have a tool of the same name. */
const OTHERS_MS = 500

/** What is written as `key=value`, and the one argument that is not. Throws `config-invalid` for a second one. */
function splitArguments(
  args: readonly string[],
  flags: readonly string[],
): { readonly json: string | undefined; readonly pairs: [string, string][] } {
  const isPair = (arg: string) => !/^\s*[{[]/.test(arg) && arg.indexOf('=') > 0
  const [json, second] = args.filter((arg) => !isPair(arg))
  if (second !== undefined)
    throw new ToolcribError('config-invalid', `"${second}" is one argument too many; ${FORM}`)
  return { json, pairs: [...args.filter(isPair), ...flags].map(readPair) }
}

async function readArguments(
  { input }: Terminal,
  json: string | undefined,
): Promise<Record<string, unknown>> {
  if (json === undefined) return {}
  const source = json === '-' ? await text(input) : json
  let data: unknown
  try {
    data = JSON.parse(source)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ToolcribError('config-invalid', `the arguments are not JSON: ${reason}; ${FORM}`, { cause })
  }
  if (typeof data === 'object' && data !== null && !Array.isArray(data))
    return data as Record<string, unknown>
  throw new ToolcribError('config-invalid', `the arguments must be a JSON object; ${FORM}`)
}

const FORM = `write them as key=value, or as '{"key": "value"}'`

function readPair(pair: string): [key: string, value: string] {
  const at = pair.indexOf('=')
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)]
  throw new ToolcribError('config-invalid', `--arg ${pair} must be key=value`)
}

/** Selects the servers that a name can refer to; all of them when it names none. */
function serversOf(name: string): (server: string, found: FoundConfig) => boolean {
  return (server, { config }) => {
    const fitting = Object.keys(config.servers).filter((each) => isNamed(each, name))
    return fitting.length === 0 || fitting.includes(server)
  }
}

function isNamed(server: string, name: string): boolean {
  return prefixes(server).some((prefix) => name.startsWith(prefix))
}

/** The spellings of a tool with its server: people's, the gateway's and the registry's. */
function prefixes(server: string): string[] {
  return [`${server}.`, `${server}__`, `mcp__${server}__`]
}

function findTool(registry: ToolRegistry, name: string): ToolSchema | undefined {
  const fitting = toolsNamed(name, registry)
  if (fitting.length < 2) return fitting[0]
  const names = fitting.map((schema) => toolName(schema.name, schema.mcpServer)).join(', ')
  throw new ToolcribError(
    'name-invalid',
    `"${name}" is the name of several tools: ${names}; call one of these`,
  )
}

/** The tool with that registered name, otherwise the tools with that name on their server. */
function toolsNamed(name: string, registry: ToolRegistry): readonly ToolSchema[] {
  const schemas = registry.listSchemas()
  const exact = schemas.find((schema) => schema.name === name)
  if (exact) return [exact]
  return schemas.filter((schema) => {
    const own = schema.name.replace(`mcp__${schema.mcpServer}__`, '')
    return own === name || prefixes(schema.mcpServer ?? '').some((prefix) => prefix + own === name)
  })
}

function typedPairs(
  pairs: readonly [string, string][],
  parameters: JsonSchema | undefined,
): Record<string, unknown> {
  const properties: unknown = typeof parameters === 'object' ? parameters.properties : undefined
  return Object.fromEntries(
    pairs.map(([key, value]) => [key, wantsText(properties, key) ? value : asJson(value)]),
  )
}

function wantsText(properties: unknown, key: string): boolean {
  if (typeof properties !== 'object' || properties === null || !Object.hasOwn(properties, key)) return false
  const property: unknown = Reflect.get(properties, key)
  return typeof property === 'object' && property !== null && 'type' in property && property.type === 'string'
}

function asJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** A call that `--timeout` cancelled has timed out. */
function asTimeout(answer: CallResult, timeoutMs: number | undefined): CallResult {
  const { result, name } = answer
  if (result.ok || result.code !== 'cancelled') return answer
  const error = `"${name}" did not respond within ${timeoutMs} ms`
  return { ...answer, result: { ...result, code: 'timeout', error } }
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
  const named = result.error.replaceAll(tool.name, own)
  return explained(`${named}\nsee its schema with "toolcrib list ${shellWord(own)} --schema"`)
}

function describeUnknown(name: string, registry: ToolRegistry, statuses: readonly ServerStatus[]): string {
  if (statuses.length === 0) {
    const step = 'add one, or run "toolcrib import" to copy servers from other programs'
    return `"${name}" cannot be called: no servers are configured; ${step}`
  }
  const missing = statuses.flatMap((status) => {
    if (status.state === 'failed') return [`server "${status.server}" failed: ${plain(status.reason)}`]
    return status.state === 'connecting'
      ? [`server "${status.server}" is still connecting; increase --timeout`]
      : []
  })
  if (missing.length > 0 && missing.length === statuses.length)
    return [`"${name}" cannot be called`, ...missing].join('\n')
  const near = nearNames(name, registry)
  const step =
    near.length > 0
      ? `did you mean ${near.map((each) => `"${each}"`).join(' or ')}?`
      : 'find its name with "toolcrib search" or "toolcrib list"'
  return [`unknown tool "${name}"; ${step}`, ...missing].join('\n')
}

/** Tools with a similar name, as people write them. */
function nearNames(name: string, registry: ToolRegistry): string[] {
  const { reason } = registry.explain(name)
  const words = new Set(reason.split(/[\s,]+/))
  const near = registry.listSchemas().filter((schema) => words.has(schema.name))
  return near.map((schema) => toolName(schema.name, schema.mcpServer))
}

function show(terminal: Terminal, { result, durationMs }: CallResult, written: readonly string[]): void {
  if (!result.ok) {
    terminal.note(`${pc.red(result.code)} ${plainLines(result.error)}`)
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
