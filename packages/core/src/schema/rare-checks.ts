/** What checks patterns, formats and references: loaded with the first schema that has one. */
export { FORMATS as formats } from './formats.ts'
export { linearPattern } from './linear-pattern.ts'
export { resolveRefs } from './resolve-refs.ts'
export type RareChecks = typeof import('./rare-checks.ts')
