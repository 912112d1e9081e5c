import { isRecord } from '../json.ts'
import type { Reducer } from './reducer.ts'

export interface ReadFileOptions {
  readonly toolName?: string
  /** Lines shown of a file that was read without a range; 200. */
  readonly maxLines?: number
}

/** Shows the beginning of a file that was read as a whole, and says how large it is. A range that was asked for stays. */
export function readFile({ toolName = 'read_file', maxLines = 200 }: ReadFileOptions = {}): Reducer {
  return {
    toolName,
    reduce(result, { args }) {
      if (!result.ok || hasRange(args)) return undefined
      const lines = result.value.split('\n')
      const total = lines.at(-1) === '' ? lines.length - 1 : lines.length
      if (total <= maxLines) return undefined
      const shown = lines.slice(0, maxLines).join('\n')
      const hint = `[lines 1–${maxLines} of ${total}, ${result.value.length} chars in all; read on with lineStart ${maxLines + 1} and a lineEnd]`
      return { ...result, value: `${shown}\n${hint}` }
    },
  }
}

function hasRange(args: unknown): boolean {
  return isRecord(args) && (isLine(args.lineStart) || isLine(args.lineEnd))
}

function isLine(value: unknown): boolean {
  return value !== undefined && value !== null
}
