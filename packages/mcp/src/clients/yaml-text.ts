import { isMap, parse, parseDocument, YAMLParseError } from 'yaml'
import { checked, invalid, type TextFormat } from './text-format.ts'

export const YAML: TextFormat = {
  name: 'yaml',
  parse: parseYaml,
  set: (text, path, value) => {
    const document = parseDocument(text)
    if (value === undefined) document.deleteIn(path)
    else {
      const parent = document.getIn(path.slice(0, -1))
      // An emptied collection is written as {}, and would stay on one line.
      if (isMap(parent) && parent.items.length === 0) parent.flow = false
      document.setIn(path, document.createNode(value))
    }
    const changed = document.toString({ lineWidth: 0 })
    return checked(YAML, { text, changed: text.includes('\r\n') ? withCr(changed) : changed, path, value })
  },
}

function parseYaml(text: string): unknown {
  try {
    // Aliases can expand to far more than the text.
    return parse(text, { maxAliasCount: 100 }) ?? {}
  } catch (error) {
    const [place] = error instanceof YAMLParseError ? (error.linePos ?? []) : []
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw invalid(`${place === undefined ? '' : `line ${place.line}, column ${place.col}: `}${reason}`, error)
  }
}

function withCr(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}
