import { anyText, checkOptions, type OptionRules, wholeNumber } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { Reducer } from './reducer.ts'

/** Which tool's files to shorten, and the limits. */
export interface ReadFileOptions {
  /** `read_file` by default. */
  readonly toolName?: string
  /** Lines to show of a file that was read without a range. 200 by default. */
  readonly maxLines?: number
  /** Files with more characters show their size even if they have few lines. 20,000 by default. */
  readonly maxChars?: number
}

const OPTIONS: OptionRules<ReadFileOptions> = {
  toolName: anyText,
  maxLines: wholeNumber({ from: 1 }),
  maxChars: wholeNumber({ from: 1 }),
}

/**
 * Shows the start of a file that was read whole, below a line with its size; a later cut removes the end. A requested
 * range is unchanged.
 */
export function readFile(options: ReadFileOptions = {}): Reducer {
  checkOptions('readFile()', options, OPTIONS)
  const { toolName = 'read_file', maxLines = 200, maxChars = 20_000 } = options
  return {
    toolName,
    reduce(result, { args }) {
      if (!result.ok || hasRange(args)) return undefined
      const { value } = result
      const lines = value.split('\n')
      const total = lines.at(-1) === '' ? lines.length - 1 : lines.length
      if (total <= maxLines && value.length <= maxChars) return undefined
      if (total <= maxLines) {
        return {
          ...result,
          value: `[${total} ${total === 1 ? 'line' : 'lines'}, ${value.length} chars in total]\n${value}`,
        }
      }
      const hint = `[lines 1–${maxLines} of ${total}, ${value.length} chars in total; continue with lineStart ${maxLines + 1} and a lineEnd]`
      return { ...result, value: `${hint}\n${lines.slice(0, maxLines).join('\n')}` }
    },
  }
}

function hasRange(args: unknown): boolean {
  return isRecord(args) && (isLine(args.lineStart) || isLine(args.lineEnd))
}

function isLine(value: unknown): boolean {
  return value !== undefined && value !== null
}
