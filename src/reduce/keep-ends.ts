/**
 * A long text as its beginning and its end, cut between lines where it can be, with a line in between that says what
 * was left out. A text within the limit stays as it is.
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

// One very long line has no break to cut at: then the cut is made where it falls, but not inside a character.
function wholeLines(part: string, cut: (part: string) => string): string {
  const lines = cut(part)
  const shown = lines.length >= part.length / 2 ? lines : part
  return shown.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '')
}

function withBreak(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
