/** Server text on one line, without characters that move the cursor, change colours or hide anything. */
export function plain(text: string): string {
  return visible(text.replace(/\r\n/g, '\n')).replace(/\s+/g, ' ').trim()
}

/** The same for text with several lines. */
export function plainLines(text: string): string {
  return visible(text.replace(/\r\n/g, '\n'))
}

/** Writes hidden characters as escapes, except the variation selector of emoji. */
function visible(text: string): string {
  return showHidden(text).replace(/(?<=\p{Extended_Pictographic})\\u\{fe0f\}/gu, '\uFE0F')
}

/** Server text exactly, on one line: line breaks as ⏎, and whitespace other than a few spaces as escapes. */
export function exact(text: string): string {
  return showHidden(text)
    .replace(/ {4,}/g, (blanks) => `(${blanks.length} spaces)`)
    .replace(/[^\S ]/g, (blank) => (blank === '\n' ? '⏎' : showCode(blank)))
    .replace(/^ | $/g, showCode)
}

/** Every character that Unicode calls invisible. Duplicates the library's, so that `--help` need not load it. */
const HIDDEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

function showHidden(text: string): string {
  return text.replace(HIDDEN, (hidden) => (hidden === '\n' || hidden === '\t' ? hidden : showCode(hidden)))
}

function showCode(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}

/** Cuts text to a width, and marks the cut. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/**
 * Wraps text to a width, between words. Continuation lines begin where the text does: after the indent, a mark such as `→`,
 * and a column that ends with two blanks. Colours have no width.
 */
export function wrap(text: string, lineWidth: number): string {
  return text
    .split('\n')
    .map((line) => wrapLine(line, lineWidth))
    .join('\n')
}

function wrapLine(line: string, lineWidth: number): string {
  if (width(line) <= lineWidth) return line
  const indent = ' '.repeat(textColumn(withoutColours(line), lineWidth))
  // A number stays with its unit.
  const [first = '', ...words] = line.split(/(?<!(?:^|[ (])[\d.,]{1,7}) | (?!%|m?s\b)/)
  const lines = [first]
  for (const word of words) {
    const last = lines.at(-1) ?? ''
    // A word that is too long for any line is not moved to a new one.
    const isFitting = width(last) + 1 + width(word) <= lineWidth || withoutColours(last).trim() === ''
    if (isFitting) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines.map((each) => each.trimEnd()).join('\n')
}

/** Where the text of a line begins; a column wider than half of the line is part of the text. */
function textColumn(line: string, lineWidth: number): number {
  const marked = /^ *(?:[✓✗→–•=+~!-] +|\d+\. +)?/.exec(line)?.[0].length ?? 0
  const column = /^\S+(?: \S+)* {2,}(?=\S)/.exec(line.slice(marked))?.[0].length ?? 0
  return marked + column <= lineWidth / 2 ? marked + column : marked
}

/** Rows with their columns aligned; widths are measured without colours. */
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

/** How many characters a text takes on a terminal, without its colours. */
export function width(cell: string): number {
  return withoutColours(cell).length
}

function withoutColours(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours are escapes.
  return text.replace(/\u001B\[\d+m/g, '')
}

/** A tool's name as people write it, `server.tool`: registered names are longer, and no command needs them. */
export function toolName(name: string, server = /^mcp__(.+?)__/.exec(name)?.[1]): string {
  const prefix = `mcp__${server}__`
  return server !== undefined && name.startsWith(prefix) ? `${server}.${name.slice(prefix.length)}` : name
}

/** A word of a command, quoted for a shell if necessary. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A time such as `2026-11-17T05:42:10.123Z` in local time: `2026-11-17 05:42:10`. */
export function localTime(iso: string): string {
  const date = new Date(iso)
  const two = (count: number) => String(count).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`
}

export function figure(count: number): string {
  return count.toLocaleString('en-US')
}

export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${figure(count)} ${count === 1 ? noun : nouns}`
}
