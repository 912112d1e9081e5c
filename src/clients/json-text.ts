import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { checked, invalid, type TextFormat } from './text-format.ts'

/** JSON with comments and trailing commas. */
export const JSON_WITH_COMMENTS: TextFormat = {
  name: 'json',
  parse: parseJson,
  set: (text, path, value) => {
    const [mark, rest] = /^\uFEFF/.test(text) ? [text[0], text.slice(1)] : ['', text]
    const body = rest.trim() === '' ? '{}' : rest
    const changed = mark + (value === undefined ? removeFromJson(body, path) : setInJson(body, path, value))
    return checked(JSON_WITH_COMMENTS, { text, changed, path, value })
  },
}

function setInJson(text: string, path: readonly string[], value: unknown): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return applyEdits(text, modify(text, [...path], value, { formattingOptions: { ...indentOf(text), eol } }))
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
 * Removes the property at a path of keys from JSON with comments. The parser's own editor would remove the comments around
 * it, and leave a comma behind that belongs to nothing. A comment at the end of its line goes with it.
 */
function removeFromJson(text: string, path: readonly string[]): string {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const property = root && findNodeAtLocation(root, [...path])?.parent
  if (property?.type !== 'property') return text
  const siblings = property.parent?.children ?? []
  const previous = siblings[siblings.indexOf(property) - 1]
  const own = commaAfter(text, property)
  // Without a comma of its own, the last property ends the one before.
  const other = own === undefined && previous ? commaAfter(text, previous) : undefined
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

/** Extends a span over the lines that would be left empty, or over the blanks beside it. */
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
