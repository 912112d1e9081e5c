export type { ScriptLimits } from './limits.ts'
export type { RecordedCall, Replay } from './replay.ts'
export { type ScriptsOptions, scripts } from './scripts.ts'
