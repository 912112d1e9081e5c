import type { RegistryOptions } from '../../registry-options.ts'
import { type FieldKind, type Place, readTable } from './read-table.ts'

/** The part of a registry's options that a config file decides. */
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

const FIELDS = {
  registryMode: { oneOf: ['full', 'lazy', 'auto'] },
  lazyMcp: 'flag',
  deferredTools: 'flag',
  defer: { oneOf: ['all', 'mcp', 'flagged'] },
  toolThreshold: 'count',
  thresholdPercent: 'count',
  contextWindow: 'count',
  maxActiveSchemas: 'count',
  maxActiveTokens: 'count',
  searchTool: { oneOf: ['tool_search', 'tool_search_regex', 'ToolSearch'] },
  searchStyle: { oneOf: ['one-step', 'two-step'] },
  searchesPerMinute: 'count',
  strategy: { oneOf: ['append', 'dispatch', 'native', 'auto'] },
  resultBudgetChars: 'count',
  maxIdenticalCalls: 'count',
  serverWaitMs: 'count',
  pinned: 'texts',
  allow: 'texts',
  deny: 'texts',
} as const satisfies Record<string, FieldKind>

/** Reads a `[tools]` table into registry options. The short forms come first, so what is spelled out beside them wins. */
export function readTools(table: unknown, place: Place): ToolsConfig {
  const { registryMode, lazyMcp, deferredTools, maxActiveSchemas, allow, deny, ...rest } = readTable(
    table,
    FIELDS,
    place,
  )
  const policy = { ...(allow === undefined ? {} : { allow }), ...(deny === undefined ? {} : { deny }) }
  return {
    ...(lazyMcp === true ? { mode: 'lazy', defer: 'mcp' } : {}),
    ...(deferredTools === true ? { mode: 'lazy', defer: 'all' } : {}),
    ...(registryMode === undefined ? {} : { mode: registryMode }),
    ...(maxActiveSchemas === undefined ? {} : { maxActive: maxActiveSchemas }),
    ...rest,
    ...(Object.keys(policy).length > 0 ? { policy } : {}),
  } as ToolsConfig
}

/** One layer of options over another; `allow` and `deny` are taken over one by one. */
export function overlayTools(lower: ToolsConfig, upper: ToolsConfig): ToolsConfig {
  const policy = { ...lower.policy, ...upper.policy }
  return { ...lower, ...upper, ...(Object.keys(policy).length > 0 ? { policy } : {}) }
}

/** What the environment says about `[tools]`: `TOOLCRIB_REGISTRY_MODE=lazy`, lists with commas. */
export function toolsFromEnvironment(env: Readonly<Record<string, string | undefined>>): ToolsConfig {
  const table: Record<string, unknown> = {}
  const variables = new Map<string, string>()
  for (const [field, kind] of Object.entries<FieldKind>(FIELDS)) {
    const variable = `TOOLCRIB_${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
    const value = env[variable]
    if (value === undefined || value === '') continue
    table[field] = readVariable(value, kind)
    variables.set(field, variable)
  }
  return readTools(table, {
    keys: [],
    style: 'snake',
    at: (keys) => `environment variable ${variables.get(keys[0] ?? '') ?? ''}: `,
  })
}

function readVariable(value: string, kind: FieldKind): unknown {
  if (kind === 'count') return Number(value)
  if (kind === 'texts') return value.split(',').map((item) => item.trim())
  if (kind !== 'flag') return value
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0' ? false : value
}
