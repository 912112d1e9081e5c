import type { RegistryOptions, SearcherName } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { SEARCH_TOOL_NAMES } from '@toolcrib/core/internal'
import type { Variables } from './expand-variables.ts'
import {
  type FieldKind,
  fieldFault,
  fillTable,
  fromText,
  invalid,
  type Place,
  readTable,
} from './read-table.ts'

/** The registry options that a config file can set. */
export type ToolsConfig = Pick<
  RegistryOptions,
  | 'mode'
  | 'defer'
  | 'toolThreshold'
  | 'thresholdPercent'
  | 'contextWindow'
  | 'pinned'
  | 'maxActive'
  | 'maxActiveTokens'
  | 'searchTool'
  | 'searchStyle'
  | 'searchesPerMinute'
  | 'strategy'
  | 'resultBudgetChars'
  | 'maxIdenticalCalls'
  | 'serverWaitMs'
  | 'policy'
>

/** The searchers that a config may name. `hybrid` uses the embedder that ships with the package. */
export type SearcherChoice = 'hybrid' | SearcherName

export const SEARCHER_KIND = { oneOf: ['hybrid', 'lexical', 'weighted', 'regex'] } as const

const FIELDS = {
  /** `full` shows every tool; `lazy` only pinned ones and a search; `auto` (default) is lazy once there are many. */
  registryMode: { oneOf: ['full', 'lazy', 'auto'] },
  /** Shorthand: `true` is lazy mode with `defer = "mcp"`, `false` is full mode. */
  lazyMcp: 'flag',
  /** Shorthand: `true` is lazy mode with `defer = "all"`. */
  deferredTools: 'flag',
  defer: { oneOf: ['auto', 'all', 'mcp', 'flagged'] },
  /** How tools are ranked. Default: `hybrid`. */
  searcher: SEARCHER_KIND,
  toolThreshold: 'count',
  thresholdPercent: 'percent',
  contextWindow: 'count',
  /** How many tools a conversation may have checked out; the least recently used make room. Default: 24; 0 = no cap. */
  maxActiveSchemas: 'count',
  maxActiveTokens: 'count',
  searchTool: { oneOf: SEARCH_TOOL_NAMES },
  searchStyle: { oneOf: ['one-step', 'two-step'] },
  searchesPerMinute: 'count',
  strategy: { oneOf: ['append', 'dispatch', 'native', 'auto'] },
  resultBudgetChars: 'count',
  maxIdenticalCalls: 'count',
  serverWaitMs: 'milliseconds',
  pinned: 'texts',
  /** Names and globs of the only tools that may be seen and called. Default: all. */
  allow: 'texts',
  /** Names and globs of tools that may be neither seen nor called; takes precedence over `allow`. */
  deny: 'texts',
  /** Names and globs of tools about which a person is asked before each call; `destructive`, `changes` and `writes` are kinds. */
  ask: 'texts',
  /** Tools that run without the question, each with the SHA-256 of its definition. Only in the user's own config. */
  allowUnasked: 'map',
  /** `true`: servers start only when a lockfile approves them. No other file can unset it. */
  requireLock: 'flag',
  /** Whether `serve`, `chat` and the commands remember which tools served which requests. Default: `true`. */
  memory: 'flag',
  /** Whether they remember the text of requests too, not only vectors. Default: `false`. */
  memoryText: 'flag',
} as const satisfies Record<string, FieldKind>

/** The `[tools]` settings of one layer. */
export type ToolsTable = Readonly<Record<string, unknown>>

/** Reads a `[tools]` table, with its variables expanded. */
export function readTools(table: unknown, place: Place, variables: Variables): ToolsTable {
  const { values, faults } = fillTable(readTable(table, FIELDS, place), FIELDS, place, variables)
  if (faults.length > 0) throw invalid(place, [], faults.join('; '))
  return values
}

/**
 * Merges one layer over another, key by key. A shorthand in the upper layer (`lazy_mcp`, `deferred_tools = true`)
 * also removes the mode and the deferral of the lower layers, since it sets both. `deferred_tools = false` only
 * removes itself. `require_lock = true`, `memory = false` and `memory_text = false` set by one layer cannot be unset by
 * another, and `ask` of all layers applies: a project must not override its user's decision.
 */
export function overlayTools(lower: ToolsTable, upper: ToolsTable): ToolsTable {
  const isShort = upper.lazyMcp !== undefined || upper.deferredTools === true
  const kept = Object.entries(lower).filter(([key]) => !isShort || !SHORTENED.has(key))
  const asked = [lower.ask, upper.ask].flatMap((list) => (Array.isArray(list) ? list : []))
  const isLocked = lower.requireLock === true || upper.requireLock === true
  const isOff = (key: 'memory' | 'memoryText') => lower[key] === false || upper[key] === false
  return {
    ...Object.fromEntries(kept),
    ...upper,
    ...(lower.allowUnasked ? { allowUnasked: lower.allowUnasked } : {}),
    ...(asked.length > 0 ? { ask: [...new Set(asked)] } : {}),
    ...(isLocked ? { requireLock: true } : {}),
    ...(isOff('memory') ? { memory: false } : {}),
    ...(isOff('memoryText') ? { memoryText: false } : {}),
  }
}

const SHORTENED: ReadonlySet<string> = new Set(['registryMode', 'defer', 'lazyMcp', 'deferredTools'])

/**
 * Converts the merged layers to registry options: `lazy_mcp = true` is lazy mode with `defer = "mcp"`, false is full
 * mode; `deferred_tools = true` is lazy mode with `defer = "all"`. An explicit mode or deferral takes precedence over
 * these shorthands.
 */
export function toRegistryOptions(table: ToolsTable): ToolsConfig {
  const { registryMode, lazyMcp, deferredTools, maxActiveSchemas, allow, deny, ask, defer, ...rest } = table
  const lists = Object.entries({ allow, deny, ask }).filter(([, list]) => list !== undefined)
  const policy: object = Object.fromEntries(lists)
  const { mode, defer: shortDefer } = shortForm(lazyMcp, deferredTools)
  const deferred = defer ?? shortDefer
  return {
    ...(mode === undefined ? {} : { mode }),
    ...(registryMode === undefined ? {} : { mode: registryMode }),
    ...(deferred === undefined ? {} : { defer: deferred }),
    ...(maxActiveSchemas === undefined ? {} : { maxActive: maxActiveSchemas }),
    ...rest,
    ...(Object.keys(policy).length > 0 ? { policy } : {}),
  } as ToolsConfig
}

function shortForm(lazyMcp: unknown, deferredTools: unknown): Pick<ToolsConfig, 'mode' | 'defer'> {
  if (deferredTools === true) return { mode: 'lazy', defer: 'all' }
  if (lazyMcp === undefined) return {}
  return lazyMcp === true ? { mode: 'lazy', defer: 'mcp' } : { mode: 'full' }
}

/** Reads the `[tools]` settings from the environment: `TOOLCRIB_REGISTRY_MODE=lazy`; lists are comma-separated. */
export function toolsFromEnvironment(env: Variables['env']): ToolsTable {
  const table: Record<string, unknown> = {}
  for (const [field, kind] of Object.entries<FieldKind>(FIELDS)) {
    const variable = `TOOLCRIB_${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
    const text = env[variable]
    if (text === undefined || text === '') continue
    const value = kind === 'texts' ? text.split(',').map((item) => item.trim()) : fromText(text, kind)
    const fault = fieldFault(value, kind)
    if (fault)
      throw new ToolcribError('config-invalid', `the environment variable ${variable} ${fault.reason}`)
    table[field] = value
  }
  return readTools(table, { keys: [], style: 'snake', at: () => 'environment: ' }, { env })
}
