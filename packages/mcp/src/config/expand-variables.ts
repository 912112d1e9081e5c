/** A text with its variables expanded, or why that failed. */
export type Expanded =
  | { readonly text: string }
  /** The variable that has no value. */
  | { readonly missing: string }
  /** The text between the braces that is not a variable. */
  | { readonly unknown: string }

export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The value of `${workspaceFolder}`. */
  readonly workspaceFolder?: string | undefined
  /** The value of `${configFolder}`: the folder of the config file. */
  readonly configFolder?: string | undefined
}

/** How deep defaults may nest variables. */
const MAX_DEPTH = 16
const MAX_SHOWN = 60

/**
 * Expands `${NAME}`, `${NAME:-default}` and the editors' spellings: `${env:NAME}`, `${userHome}`, `${workspaceFolder}`,
 * and `${input:api-key}` for the variable `API_KEY`; `${configFolder}` is our own. A default also replaces an empty
 * variable, as in a shell, and may contain variables itself, up to 16 levels deep. Values are not expanded again.
 * Anything else in such braces is reported as unknown: a server must not receive `${command:x}` in place of a token. An
 * unclosed reference before a closed one is reported too, since it would be passed on as written. Runs in linear time.
 */
export function expandVariables(text: string, variables: Variables): Expanded {
  const closing = matchBraces(text)
  let lastClosed = -1
  for (const start of closing.keys()) lastClosed = Math.max(lastClosed, start)
  return expandRange({ text, variables, closing, lastClosed }, 0, text.length, 0)
}

/** Maps the start of each reference to its closing brace; unclosed references are left out. */
function matchBraces(text: string): ReadonlyMap<number, number> {
  const closing = new Map<number, number>()
  const open: number[] = []
  for (let at = 0; at < text.length; at++) {
    if (text.startsWith('${', at)) open.push(at)
    else if (text[at] === '}') {
      const start = open.pop()
      if (start !== undefined) closing.set(start, at)
    }
  }
  return closing
}

interface Expansion {
  readonly text: string
  readonly variables: Variables
  readonly closing: ReadonlyMap<number, number>
  /** The start of the last closed reference; -1 if there is none. */
  readonly lastClosed: number
}

function expandRange(expansion: Expansion, from: number, to: number, depth: number): Expanded {
  const { text, closing, lastClosed } = expansion
  const parts: string[] = []
  let rest = from
  for (;;) {
    const start = text.indexOf('${', rest)
    if (start < 0 || start >= to) break
    const close = closing.get(start)
    if (close === undefined) {
      if (start > lastClosed) break
      return { unknown: shown(text.slice(start + 2, text.indexOf('${', start + 2))) }
    }
    const meaning = expandReference(expansion, start + 2, close, depth)
    if (!('text' in meaning)) return meaning
    parts.push(text.slice(rest, start), meaning.text)
    rest = close + 1
  }
  return { text: parts.join('') + text.slice(rest, to) }
}

const REFERENCE = /(?:(?<plain>[\w.]+)|env:(?<named>[^{}:]+)|input:(?<input>[^{}:]+))(?<end>:-|\})/y

function expandReference(expansion: Expansion, from: number, close: number, depth: number): Expanded {
  const { text, variables } = expansion
  REFERENCE.lastIndex = from
  const { plain, named, input, end } = REFERENCE.exec(text)?.groups ?? {}
  const name = plain ?? named ?? (input === undefined ? undefined : inputName(input))
  if (name === undefined || depth > MAX_DEPTH) return { unknown: shown(text.slice(from, close)) }
  const value = lookUp(name, variables)
  if (end === ':-' && (value === undefined || value === ''))
    return expandRange(expansion, REFERENCE.lastIndex, close, depth + 1)
  return value === undefined ? { missing: name } : { text: value }
}

function shown(reference: string): string {
  return reference.length > MAX_SHOWN ? `${reference.slice(0, MAX_SHOWN)}…` : reference
}

/** Editors prompt their users for inputs; here they come from environment variables. */
function inputName(id: string): string {
  return id.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()
}

function lookUp(name: string, { env, workspaceFolder, configFolder }: Variables): string | undefined {
  if (name === 'workspaceFolder') return workspaceFolder
  if (name === 'configFolder') return configFolder
  if (name === 'userHome') return env.HOME ?? env.USERPROFILE
  // Own properties only: every object has a `constructor`.
  return Object.hasOwn(env, name) ? env[name] : undefined
}
