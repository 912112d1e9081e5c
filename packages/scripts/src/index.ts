export type { ScriptLimits } from './limits.ts'
export { type ScriptsOptions, scripts } from './scripts.ts'
