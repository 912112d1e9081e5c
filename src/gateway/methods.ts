import type { Era, Json } from './client-line.ts'
import { TASK_METHODS } from './tasks.ts'

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
