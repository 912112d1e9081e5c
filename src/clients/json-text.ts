import { createScanner, findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'

/**
 * Removes the property at a path of keys from JSON with comments. The parser's own editor would remove the comments around
 * it, and leave a comma behind that belongs to nothing. A comment at the end of its line goes with it.
 */
export function removeFromJson(text: string, path: readonly string[]): string {
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
