import type { Json } from './json-rpc.ts'

/** The era of the protocol that a client or server speaks: since 2026-07-28 requests are independent of each other. */
export type Era = 'modern' | 'legacy'

export const MODERN_VERSION = '2026-07-28'
/** Revisions of the older era, the latest first. */
export const LEGACY_VERSIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]

// Keys of `_meta`.
export const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
export const CLIENT_INFO_KEY = 'io.modelcontextprotocol/clientInfo'
export const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
export const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel'
export const SERVER_INFO_KEY = 'io.modelcontextprotocol/serverInfo'

/** The extension with which a modern server answers a call with a task, whose result the client fetches later. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'
export const TASK_METHODS: readonly string[] = ['tasks/get', 'tasks/update', 'tasks/cancel']

/** Requests whose results may be cached. */
export const CACHEABLE: readonly string[] = [
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
]

/** Requests of each capability. */
const METHODS: Readonly<Record<string, Readonly<Record<Era, readonly string[]>>>> = {
  tools: both('tools/list', 'tools/call'),
  prompts: both('prompts/list', 'prompts/get'),
  resources: {
    modern: ['resources/list', 'resources/templates/list', 'resources/read'],
    legacy: [
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'resources/subscribe',
      'resources/unsubscribe',
    ],
  },
  completions: both('completion/complete'),
  extensions: { modern: TASK_METHODS, legacy: [] },
  logging: { modern: [], legacy: ['logging/setLevel'] },
}

/** The requests that clients may send to a server with these capabilities. */
export function methodsOf(capabilities: Json, era: Era): ReadonlySet<string> {
  return new Set(Object.keys(capabilities).flatMap((capability) => METHODS[capability]?.[era] ?? []))
}

function both(...methods: string[]): Readonly<Record<Era, readonly string[]>> {
  return { modern: methods, legacy: methods }
}
