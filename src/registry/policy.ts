import { describeError, ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { nearestName } from '../nearest-name.ts'
import type { Entry } from './entry.ts'

/** Narrows what MCP servers and plugins contribute. Each list absent = all, `[]` = none. */
export interface ToolFilter {
  readonly allowedMcpServers?: readonly string[]
  /** Registered names such as `mcp__github__search`; globs work. */
  readonly allowedMcpTools?: readonly string[]
  readonly allowedPlugins?: readonly string[]
  /** Takes precedence over everything else. */
  readonly excludeTools?: readonly string[]
}

/**
 * Which tools may be seen and called. Names and `*` globs; absent `allow` = all, `[]` = none; `deny` takes precedence.
 */
export interface Policy {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
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
  /** The gate that refuses the tool, or undefined if it is permitted. */
  denial(entry: Entry): string | undefined
  /** Meta-tools pass every allowlist; only denying or excluding them by name removes them. */
  denialOfMetaTool(name: string): string | undefined
  /** False if none of a server's tools can be permitted. */
  permitsServer(server: string): boolean
}

const POLICY_KEYS = ['allow', 'deny', 'filter']
const FILTER_KEYS = ['allowedMcpServers', 'allowedMcpTools', 'allowedPlugins', 'excludeTools']

/** Throws `config-invalid` for a policy with an unknown key or an invalid list. */
export function checkPolicy(policy: unknown): asserts policy is Policy {
  const { filter = {}, ...lists } = checkKeys(policy, 'policy', POLICY_KEYS)
  checkLists(lists, 'policy')
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
  const isExcluded = matcher(filter.excludeTools)
  const isDenied = matcher(gates.deny)
  const isAllowed = matcher(gates.allow)
  const allowlists = (gates.allowlists ?? []).map((names) => matcher(names))
  const isInToolset = matcher(gates.allowedTools)
  const isAllowedMcpTool = matcher(filter.allowedMcpTools)
  const isAllowedServer = matcher(filter.allowedMcpServers)
  const isAllowedPlugin = matcher(filter.allowedPlugins)

  function denialOfMetaTool(name: string): string | undefined {
    if (isExcluded?.(name)) return 'excludeTools'
    if (isDenied?.(name)) return 'the deny list'
    return undefined
  }

  return {
    isOpen: ![
      isExcluded,
      isDenied,
      isAllowed,
      isInToolset,
      isAllowedMcpTool,
      isAllowedServer,
      isAllowedPlugin,
      ...allowlists,
    ].some(Boolean),
    denialOfMetaTool,
    permitsServer: (server) => isAllowedServer?.(server) !== false,
    denial({ name, source, tool }) {
      const refused = denialOfMetaTool(name)
      if (refused) return refused
      if (isAllowed && !isAllowed(name)) return 'the allow list'
      if (allowlists.some((isListed) => isListed?.(name) === false)) return "the session's own list of tools"
      if (source.kind === 'builtin') {
        if (isInToolset && !isInToolset(name) && tool.alwaysInclude !== true)
          return 'the toolset (allowedTools)'
        return undefined
      }
      if (source.kind === 'plugin') {
        return isAllowedPlugin && !isAllowedPlugin(source.plugin) ? 'allowedPlugins' : undefined
      }
      if (isAllowedServer && !isAllowedServer(source.server)) return 'allowedMcpServers'
      if (isAllowedMcpTool && !isAllowedMcpTool(name)) return 'allowedMcpTools'
      return undefined
    },
  }
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
    denial: (entry) => first.denial(entry) ?? second.denial(entry),
    denialOfMetaTool: (name) => first.denialOfMetaTool(name) ?? second.denialOfMetaTool(name),
    permitsServer: (server) => first.permitsServer(server) && second.permitsServer(server),
  }
}

function denyAll(reason: string): CompiledPolicy {
  return {
    isOpen: false,
    denial: () => reason,
    denialOfMetaTool: () => reason,
    permitsServer: () => false,
  }
}

/** Returns a function that tests whether a list of names and globs contains a name; undefined without a list. */
export function matcher(patterns: readonly string[] | undefined): ((name: string) => boolean) | undefined {
  if (patterns === undefined) return undefined
  const names = new Set(patterns.filter((pattern) => !pattern.includes('*')))
  const globs = patterns.filter((pattern) => pattern.includes('*')).map((glob) => glob.split('*'))
  return (name) => names.has(name) || globs.some((pieces) => matchesGlob(name, pieces))
}

// A glob is its literal pieces in order: anchored first, anchored last, the rest found left to right. Linear, unlike a regex.
function matchesGlob(name: string, pieces: readonly string[]): boolean {
  const first = pieces[0] ?? ''
  const last = pieces[pieces.length - 1] ?? ''
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false
  let from = first.length
  const end = name.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const at = name.indexOf(piece, from)
    if (at < 0 || at + piece.length > end) return false
    from = at + piece.length
  }
  return true
}
