import { anyText, checkOptions, type OptionRules, wholeNumber } from '../check-options.ts'
import { condenseGitStatus } from './git-status.ts'
import type { Reducer } from './reducer.ts'
import { withoutRoutine } from './routine-lines.ts'

/** Which tool's output to shorten, and the limits. */
export interface TerminalOptions {
  /** `exec` by default. */
  readonly toolName?: string
  /** Output with more bytes (in UTF-8) is cut to its start and end. 8,192 by default. */
  readonly maxBytes?: number
}

const OPTIONS: OptionRules<TerminalOptions> = { toolName: anyText, maxBytes: wholeNumber({ from: 1 }) }

// Colours and cursor movements, which only a terminal needs.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g

/**
 * Shortens command output. Colours, and all but the last state of a progress bar, go. `git status` becomes counts and the first files of each kind; test runs and package
 * installs lose their routine lines and keep failures, warnings and totals; output that is still long keeps its start
 * and its end, where the exit code is. Error texts are shortened too.
 */
export function terminalReducer(options: TerminalOptions = {}): Reducer {
  checkOptions('terminalReducer()', options, OPTIONS)
  const { toolName = 'exec', maxBytes = 8_192 } = options
  return {
    toolName,
    reduce(result) {
      const text = result.ok ? result.value : result.error
      const plain = asShown(text.replace(ESCAPES, ''))
      const condensed = (result.ok ? (condenseGitStatus(plain) ?? withoutRoutine(plain)) : undefined) ?? plain
      const shown = keepEnds(
        condensed,
        charsWithin(condensed, maxBytes),
        'run it again with less output or on a smaller part',
      )
      if (shown.length >= text.length) return undefined
      return result.ok ? { ...result, value: shown } : { ...result, error: shown }
    },
  }
}

/** Text as a terminal shows it: a carriage return overwrites its line, so only the last state of a progress bar is left. */
function asShown(text: string): string {
  if (!text.includes('\r')) return text
  const lines = text.replace(/\r+\n/g, '\n').split('\n')
  return lines
    .map((line) =>
      line.includes('\r') ? (line.split('\r').findLast((state) => state.trim() !== '') ?? '') : line,
    )
    .join('\n')
}

/** How many characters of a text fit, based on its average character size. */
function charsWithin(text: string, maxBytes: number): number {
  const bytes = new TextEncoder().encode(text).length
  return bytes <= maxBytes ? text.length : Math.floor((maxBytes * text.length) / bytes)
}

/**
 * Keeps the start and end of a long text, cut at line breaks where possible, with a line between them that says what
 * was left out. A text within the limit is unchanged.
 */
export function keepEnds(text: string, maxChars: number, howToGetIt: string): string {
  if (text.length <= maxChars) return text
  const room = Math.max(0, maxChars - 200)
  const head = wholeLines(text.slice(0, Math.floor(room * 0.6)), (part) =>
    part.slice(0, part.lastIndexOf('\n') + 1),
  )
  const tail = wholeLines(text.slice(text.length - Math.floor(room * 0.4)), (part) =>
    part.slice(part.indexOf('\n') + 1),
  )
  const left = text.slice(head.length, text.length - tail.length)
  const lines = left.split('\n').length - 1
  const note = `[… ${lines} lines, ${left.length} chars left out; ${howToGetIt} …]`
  return `${withBreak(head)}${note}\n${tail}`
}

// A very long line has no break to cut at; it is cut anywhere except inside a character.
function wholeLines(part: string, cut: (part: string) => string): string {
  const lines = cut(part)
  const shown = lines.length >= part.length / 2 ? lines : part
  return shown.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
}

function withBreak(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
