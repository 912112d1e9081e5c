/** What the other packages of Toolcrib need, and users do not. It may change with any release. */

export { type BoundedPattern, compilePattern } from './bounded-pattern.ts'
export { BatchAbort } from './call/run-within.ts'
export { Slots } from './call/slots.ts'
export { shareBudget } from './call/trim-results.ts'
export {
  anyFunction,
  anyList,
  anyObject,
  anyText,
  checkOptions,
  either,
  milliseconds,
  numberFrom,
  type OptionRules,
  objectOf,
  objectWith,
  oneOf,
  optionsWith,
  required,
  textList,
  trueOrFalse,
  type ValueCheck,
  wholeNumber,
} from './check-options.ts'
export { type DiffItem, diffItems } from './diff-items.ts'
export { describeError } from './errors.ts'
export type { Emit, UnmatchedPattern } from './events.ts'
export type { Trace } from './finding.ts'
export { canonicalJson, hashText, hasMoreKeys, isRecord, parseJson, setOwn } from './json.ts'
export { refusalToRead } from './meta-tools/explain-dispatch.ts'
export { readResult } from './meta-tools/read-result.ts'
export {
  checkName,
  hidesNothing,
  isDispatchTool,
  isPlainText,
  isSearchTool,
  mcpName,
  nameSkeletons,
  SEARCH_TOOL_NAMES,
  showHidden,
  sourceName,
  withoutHidden,
  withoutHiding,
} from './names.ts'
export { nearestName } from './nearest-name.ts'
export { onFirstUse } from './on-first-use.ts'
export { keepEnds } from './reduce/terminal.ts'
export { matcher, type NamedTool, PermittingNames, RefusingNames } from './registry/name-patterns.ts'
export { type PatternLists, unmatchedPatterns } from './registry/unmatched-patterns.ts'
export type { SchemaCache } from './schema/check-arguments.ts'
export type { CheckedOutput } from './schema/check-output.ts'
export { argumentAt, type HeaderMark, headerMarks } from './schema/header-marks.ts'
export { type FineVector, type HeldRows, holdRows, refined } from './search/vectors/row-products.ts'
export { countVectors } from './search/vectors/saved-vectors.ts'
export { isVectorSearcher } from './search/vectors/vector-searcher.ts'
export { concealerOf, secretConcealerOf } from './secrets/conceal.ts'
export { mapTexts } from './secrets/map-texts.ts'
export { maskSecrets } from './secrets/mask.ts'
export { maskArguments } from './secrets/mask-arguments.ts'
export { isMaskable, maskValues } from './secrets/mask-values.ts'
export { isSecretName } from './secrets/secret-signs.ts'
export { Slices, sharedSlices } from './slices.ts'
export { encodeAnnouncement, tell } from './store/announcements.ts'
export { turns } from './store/turns.ts'
export { clipText } from './text.ts'
export {
  Deadline,
  isTooLate,
  readClock,
  scheduleInBackground,
  scheduleWithTimers,
  Timers,
  TooLateError,
  WorkBudget,
  waitAtMost,
  waitPatiently,
  within,
} from './time.ts'
export { isReadOnly } from './tool.ts'
export { textOf } from './tool-result.ts'

/** Checks of arguments and outputs, which are loaded on first use. */
export const loadSchemaChecks = async () => {
  const { SchemaCache } = await import('./schema/check-arguments.ts')
  const { checkOutput } = await import('./schema/check-output.ts')
  return { SchemaCache, checkOutput }
}
export type { CallTarget } from './call/call-scope.ts'
export type { EventBody } from './events.ts'
export { typesOf } from './meta-tools/tool-types.ts'
export type { Entry } from './registry/entry.ts'
export type {
  KnownTools,
  PausedScript,
  SavedScript,
  ScriptEngine,
  ScriptPowers,
  SessionScripts,
} from './session/script-engine.ts'
export type { SessionScope } from './session/session-scope.ts'
