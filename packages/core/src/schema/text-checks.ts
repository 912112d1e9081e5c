/** What checks texts against patterns and formats: loaded with the first schema that has one. */
export { FORMATS as formats } from './formats.ts'
export { linearPattern } from './linear-pattern.ts'
export type TextChecks = typeof import('./text-checks.ts')
