import { isDeepStrictEqual } from 'node:util'
import { applyEdits, modify, type ParseError, parse as parseJsonc, printParseErrorCode } from 'jsonc-parser'
import { parse as parseTomlText, TomlError } from 'smol-toml'
import { parseDocument, parse as parseYamlText, YAMLParseError } from 'yaml'
import { ToolcribError } from '../errors.ts'
import { isRecord } from '../json.ts'
import { removeFromJson } from './json-text.ts'
import { setInToml } from './toml-text.ts'

/** Reads and changes one kind of config file. */
export interface TextFormat {
  readonly name: 'json' | 'toml' | 'yaml'
  /** Throws `config-invalid`, with the line, for invalid syntax. */
  parse(text: string): unknown
  /**
   * Returns the text with a value set at a path of keys; undefined removes it. Comments and the rest stay as they are.
   * Throws `config-invalid` when that is not possible.
   */
  set(text: string, path: readonly string[], value: unknown): string
}

/** The format of a file, by its extension; JSON with comments for any other. */
export function formatOf(path: string): TextFormat {
  if (path.endsWith('.toml')) return TOML
  return /\.ya?ml$/.test(path) ? YAML : JSON_WITH_COMMENTS
}

const JSON_WITH_COMMENTS: TextFormat = {
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

const TOML: TextFormat = {
  name: 'toml',
  parse: parseToml,
  set: (text, path, value) => checked(TOML, { text, changed: setInToml(text, path, value), path, value }),
}

const YAML: TextFormat = {
  name: 'yaml',
  parse: parseYaml,
  set: (text, path, value) => {
    const document = parseDocument(text)
    if (value === undefined) document.deleteIn(path)
    else document.setIn(path, document.createNode(value))
    const changed = document.toString({ lineWidth: 0 })
    return checked(YAML, { text, changed: text.includes('\r\n') ? withCr(changed) : changed, path, value })
  },
}

function parseJson(text: string): unknown {
  const errors: ParseError[] = []
  const source = text.replace(/^\uFEFF/, ' ')
  if (source.trim() === '') return {}
  const data: unknown = limited(() => parseJsonc(source, errors, { allowTrailingComma: true }))
  const [error] = errors
  if (!error) return data
  const reason = printParseErrorCode(error.error).replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
  const lines = source.slice(0, error.offset).split('\n')
  const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
  throw invalid(`${place}: not valid JSON: ${reason.toLowerCase()}`)
}

function parseToml(text: string): unknown {
  try {
    return parseTomlText(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    if (error instanceof TomlError)
      throw invalid(`line ${error.line}, column ${error.column}: ${error.message.split('\n')[0]}`, error)
    throw invalid('nested too deeply', error)
  }
}

function parseYaml(text: string): unknown {
  try {
    // Aliases can expand to far more than the text.
    return parseYamlText(text, { maxAliasCount: 100 }) ?? {}
  } catch (error) {
    const [place] = error instanceof YAMLParseError ? (error.linePos ?? []) : []
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw invalid(`${place === undefined ? '' : `line ${place.line}, column ${place.col}: `}${reason}`, error)
  }
}

function limited<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof RangeError) throw invalid('nested too deeply', error)
    throw error
  }
}

/** Returns the changed text if it says what it should: the same as before, but for the one value. */
function checked(
  format: TextFormat,
  change: {
    readonly text: string
    readonly changed: string
    readonly path: readonly string[]
    readonly value: unknown
  },
): string {
  const expected = withValue(format.parse(change.text), change.path, change.value)
  let found: unknown
  try {
    found = format.parse(change.changed)
  } catch {
    found = undefined
  }
  if (isDeepStrictEqual(plainData(found), plainData(expected))) return change.changed
  const step = 'change it by hand'
  throw invalid(`${change.path.join('.')} is written in a way that cannot be changed automatically; ${step}`)
}

function withValue(data: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value
  const record = isRecord(data) ? data : {}
  const inner = withValue(Object.hasOwn(record, key) ? record[key] : undefined, rest, value)
  const { [key]: _, ...others } = record
  return inner === undefined ? others : { ...others, [key]: inner }
}

/** Without prototypes and the order of keys; a table without entries counts as none. */
function plainData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainData)
  if (!isRecord(value) || value instanceof Date) return value
  const entries = Object.entries(value).map(([key, each]) => [key, plainData(each)] as const)
  const filled = entries.filter(([, each]) => !(isRecord(each) && Object.keys(each).length === 0))
  return Object.fromEntries(filled.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The indent of the first indented line. */
function indentOf(text: string): { readonly insertSpaces: boolean; readonly tabSize: number } {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 4 }
    : { insertSpaces: true, tabSize: Math.min(8, indent.length) }
}

function withCr(text: string): string {
  return text.replace(/\r?\n/g, '\r\n')
}

function invalid(message: string, cause?: unknown): ToolcribError {
  return new ToolcribError('config-invalid', message, cause === undefined ? {} : { cause })
}
