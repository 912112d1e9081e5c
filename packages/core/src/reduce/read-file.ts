import { anyText, checkOptions, type OptionRules, wholeNumber } from '../check-options.ts'
import { isRecord } from '../json.ts'
import type { JsonSchema } from '../tool.ts'
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
export function readFileReducer(options: ReadFileOptions = {}): Reducer {
  checkOptions('readFileReducer()', options, OPTIONS)
  const { toolName = 'read_file', maxLines = 200, maxChars = 20_000 } = options
  return {
    toolName,
    reduce(result, { args, inputSchema }) {
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
      const hint = `lines 1–${maxLines} of ${total}, ${value.length} chars in total${howToGoOn(inputSchema, maxLines + 1)}`
      return { ...result, value: `[${hint}]\n${lines.slice(0, maxLines).join('\n')}` }
    },
  }
}

// How tools let a model read a part of a file: the parameters, and what to say about them.
const RANGES: readonly { readonly keys: readonly string[]; readonly goOn: (line: number) => string }[] = [
  { keys: ['lineStart', 'lineEnd'], goOn: (line) => `continue with lineStart ${line} and a lineEnd` },
  { keys: ['startLine', 'endLine'], goOn: (line) => `continue with startLine ${line} and an endLine` },
  { keys: ['start_line', 'end_line'], goOn: (line) => `continue with start_line ${line} and an end_line` },
  { keys: ['view_range'], goOn: (line) => `continue with view_range [${line}, …]` },
  // Some tools count from 0, others from 1.
  { keys: ['offset', 'limit'], goOn: () => 'continue with offset and limit' },
  { keys: ['head', 'tail'], goOn: () => 'read another part with head or tail' },
]

function hasRange(args: unknown): boolean {
  return isRecord(args) && RANGES.some(({ keys }) => keys.some((key) => isSet(args[key])))
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Names only parameters that the tool has; those of the built-in tool where its schema is unknown. */
function howToGoOn(inputSchema: JsonSchema | undefined, line: number): string {
  const properties = isRecord(inputSchema) ? inputSchema.properties : undefined
  const known = isRecord(properties) ? properties : {}
  const range =
    inputSchema === undefined
      ? RANGES[0]
      : RANGES.find(({ keys }) => keys.every((key) => Object.hasOwn(known, key)))
  return range === undefined ? '' : `; ${range.goOn(line)}`
}
