import pc from 'picocolors'

/** A line for people on stdout. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** Data for programs on stdout. */
export function printJson(data: unknown): void {
  print(JSON.stringify(data, null, 2))
}

/** Text of a server as one line that cannot move the cursor, change colours or hide anything. */
export function plain(text: string): string {
  return text.replace(/\s+/g, ' ').replace(HIDDEN, showCode).trim()
}

/** The same for text of several lines. */
export function plainLines(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(HIDDEN, (hidden) => (/[\n\t]/.test(hidden) ? hidden : showCode(hidden)))
}

const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

function showCode(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}

/** Text cut to a width, with a mark where something was left out. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** How many characters a line may take; those who need all of a text ask for JSON. */
export function terminalWidth(): number {
  return process.stdout.isTTY ? (process.stdout.columns ?? 100) : 120
}

/** Rows with their columns under each other; widths are measured without colours. */
export function columns(
  rows: readonly (readonly string[])[],
  { rightAligned = [] as number[] } = {},
): string[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, width(cell))
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const fill = ' '.repeat((widths[at] ?? 0) - width(cell))
        return rightAligned.includes(at) ? fill + cell : cell + fill
      })
      .join('  ')
      .trimEnd(),
  )
}

function width(cell: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours are escapes.
  return cell.replace(/\u001B\[\d+m/g, '').length
}

export function figure(count: number): string {
  return count.toLocaleString('en-US')
}

export function plural(count: number, noun: string): string {
  return `${figure(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Where progress is written. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** One line on stderr that changes as work goes on; nothing when stderr is no terminal. */
export function progressLine(stream: ProgressStream = process.stderr): {
  show(text: string): void
  clear(): void
} {
  if (!stream.isTTY) return { show: () => {}, clear: () => {} }
  const erase = '\r\u001B[K'
  let isShown = false
  return {
    show: (text) => {
      isShown = true
      stream.write(erase + pc.dim(cut(text, (stream.columns ?? 80) - 1)))
    },
    clear: () => {
      if (isShown) stream.write(erase)
      isShown = false
    },
  }
}
