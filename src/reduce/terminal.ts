import { condenseGitStatus } from './git-status.ts'
import { keepEnds } from './keep-ends.ts'
import type { Reducer } from './reducer.ts'
import { withoutRoutine } from './routine-lines.ts'

export interface TerminalOptions {
  readonly toolName: string
  /** Longer output is cut down to its beginning and end; 8,192. */
  readonly maxChars?: number
}

// Colours and cursor movements: a terminal's business, not a model's.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g

/**
 * Shortens what commands print. `git status` becomes counts and the first files of each kind; test runs and package
 * installs lose their routine lines and keep failures, warnings and totals; whatever is still long keeps its
 * beginning and its end, where the exit code is.
 */
export function terminal({ toolName, maxChars = 8_192 }: TerminalOptions): Reducer {
  return {
    toolName,
    reduce(result) {
      if (!result.ok) return undefined
      const plain = result.value.replace(ESCAPES, '')
      const condensed = condenseGitStatus(plain) ?? withoutRoutine(plain) ?? plain
      const value = keepEnds(condensed, maxChars, 'run it again with options that print less, or on a part')
      return value.length < result.value.length ? { ...result, value } : undefined
    },
  }
}
