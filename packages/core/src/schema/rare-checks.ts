/** What checks rare keywords: loaded with the first schema that has one. */
export { FORMATS as formats } from './formats.ts'
export { linearPattern } from './linear-pattern.ts'
export { areUnique, isMultiple } from './rare-assertions.ts'
export { resolveRefs } from './resolve-refs.ts'
