import { describeError, ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import { isReadOnly } from '../tool.ts'
import type { Entry } from './entry.ts'
import { matcher, PermittingNames, RefusingNames } from './name-patterns.ts'
import type { Snapshot } from './snapshot.ts'

/** Narrows what MCP servers, plugins and APIs contribute. Each list absent = all, `[]` = none. */
export interface ToolFilter {
  readonly allowedMcpServers?: readonly string[]
  /** Registered names such as `mcp__github__search`; globs work. */
  readonly allowedMcpTools?: readonly string[]
  readonly allowedPlugins?: readonly string[]
  readonly allowedApis?: readonly string[]
  /** Takes precedence over everything else. */
  readonly excludeTools?: readonly string[]
}

/**
 * Which tools may be seen and called. Names in any spelling that a call may use (`mcp__github__search`,
 * `github.search`, `search`) and `*` globs; absent `allow` = all, `[]` = none. `deny` takes precedence, and ignores
 * case, separators and look-alike letters. `registry.unmatchedPatterns()` tells which match nothing.
 */
export interface Policy {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  /**
   * The tools about which a person is asked before each call: names and globs, read like `deny`; `destructive`: those that
   * say that they destroy (`destructiveHint: true`); `writes`: those that do not say that they only read.
   */
  readonly ask?: readonly string[] | 'destructive' | 'writes'
  readonly filter?: ToolFilter
}

/** A policy with the gates that a single call or a forked session adds to it. */
export interface Gates extends Policy {
  /** The toolset gate: the built-ins that pass; absent = all, `[]` = none. */
  readonly allowedTools?: readonly string[] | undefined
  /** Further allowlists, each of which a tool must be on. */
  readonly allowlists?: readonly (readonly string[])[]
}

/** A compiled policy. One object decides definitions, search, activation and execution, so they cannot disagree. */
export interface CompiledPolicy {
  /** True when it refuses nothing, so that checks can be skipped. */
  readonly isOpen: boolean
  /** True when the own names of servers' tools may permit them, which depends on the names of other tools. */
  readonly readsBareNames: boolean
  /** The gate that refuses a tool of a snapshot, or undefined if it is permitted. */
  denial(entry: Entry, snapshot: Names): string | undefined
  /** Meta-tools pass every allowlist; only denying or excluding them by name removes them. */
  denialOfMetaTool(name: string): string | undefined
  /** Whether a person must be asked before a call of this tool. */
  asks(entry: Entry): boolean
  /** False if none of a server's tools can be permitted. */
  permitsServer(server: string): boolean
}

/** The tools that names are compared with. */
export type Names = Pick<Snapshot, 'get'>

const POLICY_KEYS = ['allow', 'deny', 'ask', 'filter']
const FILTER_KEYS = ['allowedMcpServers', 'allowedMcpTools', 'allowedPlugins', 'allowedApis', 'excludeTools']

/** Throws `config-invalid` for a policy with an unknown key or an invalid list. */
export function checkPolicy(policy: unknown): asserts policy is Policy {
  const { filter = {}, ask, ...lists } = checkKeys(policy, 'policy', POLICY_KEYS)
  checkLists(lists, 'policy')
  if (ask !== 'destructive' && ask !== 'writes') checkNames(ask, 'policy.ask')
  checkLists(checkKeys(filter, 'policy.filter', FILTER_KEYS), 'policy.filter')
}

/** Returns a frozen copy of a policy, including its lists. */
export function copyPolicy({ filter, ...lists }: Policy): Policy {
  return Object.freeze({
    ...copyLists(lists),
    ...(filter === undefined ? {} : { filter: copyLists(filter) }),
  })
}

function copyLists<Lists extends object>(lists: Lists): Lists {
  const copies = Object.entries(lists).map(([key, list]) => [
    key,
    Array.isArray(list) ? Object.freeze([...list]) : list,
  ])
  return Object.freeze(Object.fromEntries(copies))
}

function checkKeys(value: unknown, what: string, known: readonly string[]): Record<string, unknown> {
  if (!isRecord(value)) throw new ToolcribError('config-invalid', `${what} must be an object`)
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown === undefined) return value
  const nearest = nearestName(unknown, known)
  const step = nearest === undefined ? `it takes ${known.join(', ')}` : `did you mean "${nearest}"?`
  throw new ToolcribError('config-invalid', `${what} has no "${unknown}"; ${step}`)
}

function checkLists(lists: Record<string, unknown>, what: string): void {
  for (const [key, list] of Object.entries(lists)) checkNames(list, `${what}.${key}`)
}

/** Throws `config-invalid` for anything but an array of names and globs; undefined is accepted. */
export function checkNames(list: unknown, what: string): void {
  if (list === undefined || (Array.isArray(list) && list.every((name) => typeof name === 'string'))) return
  throw new ToolcribError('config-invalid', `${what} must be an array of names, such as ["mcp__github__*"]`)
}

export function compilePolicy(gates: Gates): CompiledPolicy {
  const { filter = {} } = gates
  const excluded = filter.excludeTools && new RefusingNames(filter.excludeTools)
  const denied = gates.deny && new RefusingNames(gates.deny)
  const permitting: readonly (readonly [PermittingNames, gate: string])[] = [
    ...named(gates.allow, 'the allow list'),
    ...(gates.allowlists ?? []).flatMap((names) => named(names, "the session's own list of tools")),
  ]
  const allowedMcpTools = named(filter.allowedMcpTools, 'allowedMcpTools')
  const isInToolset = gates.allowedTools && matcher(gates.allowedTools)
  const isAllowedServer = filter.allowedMcpServers && matcher(filter.allowedMcpServers)
  const isAllowedPlugin = filter.allowedPlugins && matcher(filter.allowedPlugins)
  const isAllowedApi = filter.allowedApis && matcher(filter.allowedApis)

  const asked = typeof gates.ask === 'string' ? [gates.ask] : (gates.ask ?? [])
  const askedNames =
    asked.length > 0 ? new RefusingNames(asked.filter((name) => !isAskKind(name))) : undefined

  return {
    isOpen:
      permitting.length + allowedMcpTools.length === 0 &&
      ![excluded, denied, isInToolset, isAllowedServer, isAllowedPlugin, isAllowedApi].some(Boolean),
    readsBareNames: permitting.length + allowedMcpTools.length > 0,
    denialOfMetaTool(name) {
      if (excluded?.hasName(name)) return 'excludeTools'
      return denied?.hasName(name) ? 'the deny list' : undefined
    },
    permitsServer: (server) => isAllowedServer?.(server) !== false,
    asks({ tool, listing }) {
      if (askedNames === undefined) return false
      if (asked.includes('writes') && !isReadOnly(tool)) return true
      if (asked.includes('destructive') && tool.annotations?.destructiveHint === true) return true
      return askedNames.has(listing)
    },
    denial(entry, snapshot) {
      const { name, source, tool, listing } = entry
      if (excluded?.has(listing)) return 'excludeTools'
      if (denied?.has(listing)) return 'the deny list'
      const isTaken = (bare: string) => !isBareName(bare, snapshot)
      const isOff = ([names]: readonly [PermittingNames, string]) => !names.has(listing, isTaken)
      const refusing = permitting.find(isOff)
      if (refusing) return refusing[1]
      if (source.kind === 'builtin') {
        if (isInToolset && !isInToolset(name) && tool.alwaysInclude !== true)
          return 'the toolset (allowedTools)'
        return undefined
      }
      if (source.kind === 'plugin') {
        return isAllowedPlugin && !isAllowedPlugin(source.plugin) ? 'allowedPlugins' : undefined
      }
      if (source.kind === 'openapi') {
        return isAllowedApi && !isAllowedApi(source.api) ? 'allowedApis' : undefined
      }
      if (isAllowedServer && !isAllowedServer(source.server)) return 'allowedMcpServers'
      return allowedMcpTools.find(isOff)?.[1]
    },
  }
}

/** The words of `ask` that mean kinds of tools. */
export function isAskKind(name: string): boolean {
  return name === 'destructive' || name === 'writes'
}

/** What either policy asks about. */
export function bothAsks(first: Policy['ask'], second: Policy['ask']): Policy['ask'] {
  if (first === undefined || second === undefined) return second ?? first
  return [...new Set([first, second].flat())]
}

function named(
  patterns: readonly string[] | undefined,
  gate: string,
): readonly (readonly [PermittingNames, string])[] {
  return patterns === undefined ? [] : [[new PermittingNames(patterns), gate]]
}

/**
 * Whether a name alone may mean a server's tool: it does not look like another server's tool, and no built-in tool or
 * plugin's tool has it.
 */
export function isBareName(name: string, snapshot: Names): boolean {
  return !/__|\./.test(name) && snapshot.get(name) === undefined
}

/** The lists that one call of the registry adds to its policy; absent or null permits all. */
export interface PolicyLists {
  readonly allowedTools: readonly string[] | null | undefined
  readonly filter: ToolFilter | null | undefined
}

/** Returns a policy narrowed by these lists. Throws `config-invalid` for anything but lists of names. */
export function narrowPolicy(policy: CompiledPolicy, { allowedTools, filter }: PolicyLists): CompiledPolicy {
  if ((allowedTools ?? filter ?? undefined) === undefined) return policy
  checkNames(allowedTools ?? undefined, 'allowedTools')
  const given = filter ? { filter } : {}
  checkPolicy(given)
  return bothPolicies(policy, compilePolicy({ ...given, allowedTools: allowedTools ?? undefined }))
}

/** Like `narrowPolicy()`, but never throws: invalid lists permit nothing, and the results say why. */
export function narrowOrDeny(policy: CompiledPolicy, lists: PolicyLists): CompiledPolicy {
  try {
    return narrowPolicy(policy, lists)
  } catch (error) {
    return denyAll(describeError(error))
  }
}

function bothPolicies(first: CompiledPolicy, second: CompiledPolicy): CompiledPolicy {
  return {
    isOpen: first.isOpen && second.isOpen,
    readsBareNames: first.readsBareNames || second.readsBareNames,
    denial: (entry, snapshot) => first.denial(entry, snapshot) ?? second.denial(entry, snapshot),
    denialOfMetaTool: (name) => first.denialOfMetaTool(name) ?? second.denialOfMetaTool(name),
    asks: (entry) => first.asks(entry) || second.asks(entry),
    permitsServer: (server) => first.permitsServer(server) && second.permitsServer(server),
  }
}

function denyAll(reason: string): CompiledPolicy {
  return {
    isOpen: false,
    readsBareNames: false,
    denial: () => reason,
    denialOfMetaTool: () => reason,
    asks: () => true,
    permitsServer: () => false,
  }
}
