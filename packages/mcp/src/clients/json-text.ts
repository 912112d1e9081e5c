import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  format,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { setOnOneLine } from './one-line-json.ts'
import { checked, invalid, type TextFormat } from './text-format.ts'

/** JSON with comments and trailing commas. */
export const JSON_WITH_COMMENTS: TextFormat = {
  name: 'json',
  parse: parseJson,
  layOut: laidOut,
  set: (text, path, value) => {
    const [mark, rest] = /^\uFEFF/.test(text) ? [text[0], text.slice(1)] : ['', text]
    const body = rest.trim() === '' ? '{}' : rest
    const changed = value === undefined ? removeFromJson(body, path) : setInJson(body, path, value)
    return checked(JSON_WITH_COMMENTS, { text, changed: mark + changed, path, value })
  },
}

/** Formats the text with one property per line. Comments stay. */
function laidOut(text: string): string {
  return applyEdits(text, format(text, undefined, { insertSpaces: true, tabSize: 2, eol: '\n' }))
}

function setInJson(text: string, path: readonly string[], value: unknown): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const changed = setOnOneLine(text, path, value) ?? appendToJson(text, path, { value, eol })
  if (changed !== undefined) return changed
  return applyEdits(text, modify(text, [...path], value, { formattingOptions: { ...indentOf(text), eol } }))
}

/**
 * Adds a new property after the last one of an object that spans several lines. The parser's own editor would also
 * reformat that last one. Returns undefined in all other cases.
 */
function appendToJson(
  text: string,
  path: readonly string[],
  { value, eol }: { readonly value: unknown; readonly eol: string },
): string | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true })
  if (!root || findNodeAtLocation(root, [...path])) return undefined
  const parent = findNodeAtLocation(root, path.slice(0, -1))
  const [first, last] = [parent?.children?.[0], parent?.children?.at(-1)]
  if (parent?.type !== 'object' || !first || !last) return undefined
  const margin = /\n([ \t]*)$/.exec(text.slice(parent.offset, first.offset))?.[1]
  if (margin === undefined) return undefined
  const end = last.offset + last.length
  const comma = commaAfter(text, last)
  const written = comma === undefined ? `${text.slice(0, end)},${text.slice(end)}` : text
  const from = comma ?? end
  // A comment at the end of the line belongs to what is before it.
  const rest = /^,[ \t]*(?:\/\/[^\r\n]*)?(?=\r?\n)/.exec(written.slice(from))?.[0].length ?? 1
  const { insertSpaces, tabSize } = indentOf(text)
  const lines = JSON.stringify(value, null, insertSpaces ? tabSize : '\t').replaceAll('\n', eol + margin)
  const property = `${eol}${margin}${JSON.stringify(path.at(-1))}: ${lines}${comma === undefined ? '' : ','}`
  return written.slice(0, from + rest) + property + written.slice(from + rest)
}

function parseJson(text: string): unknown {
  const errors: ParseError[] = []
  const source = text.replace(/^\uFEFF/, ' ')
  if (source.trim() === '') return {}
  const data: unknown = limited(() => parse(source, errors, { allowTrailingComma: true }))
  const [error] = errors
  if (!error) return data
  const reason = printParseErrorCode(error.error).replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
  const lines = source.slice(0, error.offset).split('\n')
  const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
  throw invalid(`${place}: not valid JSON: ${reason.toLowerCase()}`)
}

function limited<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw invalid('nested too deeply', error)
    throw error
  }
}

/** The indent of the first indented line. */
function indentOf(text: string): { readonly insertSpaces: boolean; readonly tabSize: number } {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 4 }
    : { insertSpaces: true, tabSize: Math.min(8, indent.length) }
}

/**
 * Removes the property at a path of keys from JSON with comments. The parser's own editor would remove the comments
 * around it, and leave a stray comma. A comment at the end of its line is removed with it.
 */
function removeFromJson(text: string, path: readonly string[]): string {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const property = root && findNodeAtLocation(root, [...path])?.parent
  if (property?.type !== 'property') return text
  const siblings = property.parent?.children ?? []
  const previous = siblings[siblings.indexOf(property) - 1]
  const own = commaAfter(text, property)
  // The last property has no comma, so the one before loses its own.
  const other = own === undefined && previous ? commaAfter(text, previous) : undefined
  const isOnItsLine = other !== undefined && text.slice(other + 1, property.offset).trim() === ''
  if (isOnItsLine && !text.slice(other, property.offset).includes('\n'))
    return text.slice(0, other) + text.slice(property.offset + property.length)
  const { from, to } = wholeLines(text, property.offset, (own ?? property.offset + property.length - 1) + 1)
  const rest = text.slice(0, from) + text.slice(to)
  return other === undefined ? rest : rest.slice(0, other) + rest.slice(other + 1)
}

function commaAfter(text: string, { offset, length }: Node): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset + length)
  return scanner.scan() === COMMA ? scanner.getTokenOffset() : undefined
}

/** `SyntaxKind.CommaToken`, which cannot be imported. */
const COMMA = 5

/** Extends a span over the lines that would be left empty, or over the spaces beside it. */
function wholeLines(
  text: string,
  start: number,
  end: number,
): { readonly from: number; readonly to: number } {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const isFirst = text.slice(lineStart, start).trim() === ''
  const tail = /^[ \t]*(?:\/\/[^\n]*)?\r?\n/.exec(text.slice(end))?.[0]
  if (isFirst && tail !== undefined) return { from: lineStart, to: end + tail.length }
  const blanks = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0
  return { from: start, to: end + blanks }
}
