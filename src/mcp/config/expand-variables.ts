/** A text with its variables filled in, or the variable that has no value, or what is no variable that is known. */
export type Expanded = { readonly text: string } | { readonly missing: string } | { readonly unknown: string }

/** What variables stand for. */
export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>
  /** What `${workspaceFolder}` stands for. */
  readonly workspaceFolder?: string | undefined
}

/**
 * Fills in `${NAME}`, `${NAME:-default}` and the spellings of editors: `${env:NAME}`, `${userHome}`,
 * `${workspaceFolder}`, and `${input:api-key}` for the variable `API_KEY`. A default also stands in for an empty
 * variable, as in a shell, and may hold variables itself. What was filled in is not looked at again. Anything else in
 * such braces is unknown: a server must not get `${command:x}` in place of a token.
 */
export function expandVariables(text: string, variables: Variables): Expanded {
  let expanded = ''
  let rest = text
  for (let at = rest.indexOf('${'); at >= 0; at = rest.indexOf('${')) {
    const close = closingBrace(rest, at + 2)
    if (close < 0) break
    const meaning = meaningOf(rest.slice(at + 2, close), variables)
    if (!('text' in meaning)) return meaning
    expanded += rest.slice(0, at) + meaning.text
    rest = rest.slice(close + 1)
  }
  return { text: expanded + rest }
}

/** Whether a text holds a variable, whatever that stands for. */
export function holdsVariable(text: string): boolean {
  return /\$\{[^}]*\}/.test(text)
}

/** Where the reference ends that begins before `from`, past the variables it holds itself. */
function closingBrace(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text.startsWith('${', at)) depth++
    else if (text[at] === '}' && depth-- === 0) return at
  }
  return -1
}

const REFERENCE =
  /^(?:(?<plain>[\w.]+)|env:(?<named>[^{}:]+)|input:(?<input>[^{}:]+))(?::-(?<fallback>.*))?$/s

function meaningOf(reference: string, variables: Variables): Expanded {
  const { plain, named, input, fallback } = REFERENCE.exec(reference)?.groups ?? {}
  const name = plain ?? named ?? (input === undefined ? undefined : inputName(input))
  if (name === undefined) return { unknown: reference }
  const value = lookUp(name, variables)
  if (fallback !== undefined && (value === undefined || value === ''))
    return expandVariables(fallback, variables)
  return value === undefined ? { missing: name } : { text: value }
}

/** Editors ask their users for inputs; here they are variables of the environment. */
function inputName(id: string): string {
  return id.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase()
}

function lookUp(name: string, { env, workspaceFolder }: Variables): string | undefined {
  if (name === 'workspaceFolder') return workspaceFolder
  if (name === 'userHome') return env.HOME ?? env.USERPROFILE
  return env[name]
}
