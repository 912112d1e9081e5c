import { anyText, checkOptions, type OptionRules, wholeNumber } from '../check-options.ts'
import { condenseGitStatus } from './git-status.ts'
import { keepEnds } from './keep-ends.ts'
import type { Reducer } from './reducer.ts'
import { withoutRoutine } from './routine-lines.ts'

/** Which tool's output is shortened, and from what size on. */
export interface TerminalOptions {
  /** `exec` by default. */
  readonly toolName?: string
  /** Output of more bytes (in UTF-8) is cut down to its beginning and end; 8,192. */
  readonly maxBytes?: number
}

const OPTIONS: OptionRules<TerminalOptions> = { toolName: anyText, maxBytes: wholeNumber({ from: 1 }) }

// Colours and cursor movements: a terminal's business, not a model's.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g

/**
 * Shortens what commands print. `git status` becomes counts and the first files of each kind; test runs and package
 * installs lose their routine lines and keep failures, warnings and totals; whatever is still long keeps its
 * beginning and its end, where the exit code is. So does the text of an error.
 */
export function terminal(options: TerminalOptions = {}): Reducer {
  checkOptions('terminal()', options, OPTIONS)
  const { toolName = 'exec', maxBytes = 8_192 } = options
  return {
    toolName,
    reduce(result) {
      const text = result.ok ? result.value : result.error
      const plain = text.replace(ESCAPES, '')
      const condensed = (result.ok ? (condenseGitStatus(plain) ?? withoutRoutine(plain)) : undefined) ?? plain
      const shown = keepEnds(
        condensed,
        charsWithin(condensed, maxBytes),
        'run it again with options that print less, or on a part',
      )
      if (shown.length >= text.length) return undefined
      return result.ok ? { ...result, value: shown } : { ...result, error: shown }
    },
  }
}

/** How many characters of a text fit, going by what its characters take on average. */
function charsWithin(text: string, maxBytes: number): number {
  const bytes = new TextEncoder().encode(text).length
  return bytes <= maxBytes ? text.length : Math.floor((maxBytes * text.length) / bytes)
}
