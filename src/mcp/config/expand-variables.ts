/** A text with its variables filled in, or the variable that has no value. */
export type Expanded = { readonly text: string } | { readonly missing: string }

/** What variables stand for. */
export interface Variables {
  readonly env: Readonly<Record<string, string | undefined>>
  /** What `${workspaceFolder}` stands for. */
  readonly workspaceFolder?: string | undefined
}

/**
 * Fills in `${NAME}`, `${NAME:-default}` and the spellings of editors, `${env:NAME}` and `${workspaceFolder}`. A
 * default also stands in for an empty variable, as in a shell, and may hold variables itself. What was filled in is
 * not looked at again.
 */
export function expandVariables(text: string, variables: Variables): Expanded {
  let expanded = ''
  let rest = text
  for (let at = rest.indexOf('${'); at >= 0; at = rest.indexOf('${')) {
    const reference = readReference(rest.slice(at))
    if (!reference) {
      expanded += rest.slice(0, at + 2)
      rest = rest.slice(at + 2)
      continue
    }
    const meaning = meaningOf(reference, variables)
    if ('missing' in meaning) return meaning
    expanded += rest.slice(0, at) + meaning.text
    rest = rest.slice(at + reference.length)
  }
  return { text: expanded + rest }
}

/** Whether a text holds a variable, whatever that stands for. */
export function holdsVariable(text: string): boolean {
  return START.test(text)
}

interface Reference {
  readonly name: string
  readonly fallback: string | undefined
  /** How long it is, braces and all. */
  readonly length: number
}

const START = /\$\{(?:env:)?([\w.]+(?::[\w.]+)?)(:-|\})/

/** The variable that a text begins with; undefined when it begins with none. */
function readReference(text: string): Reference | undefined {
  const start = START.exec(text)
  if (start?.index !== 0) return undefined
  const [{ length }, name = '', end] = start
  if (end === '}') return { name, fallback: undefined, length }
  const close = closingBrace(text, length)
  return close < 0 ? undefined : { name, fallback: text.slice(length, close), length: close + 1 }
}

/** Where the default ends that begins at `from`, past the variables it holds itself. */
function closingBrace(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    if (text.startsWith('${', at)) depth++
    else if (text[at] === '}' && depth-- === 0) return at
  }
  return -1
}

function meaningOf({ name, fallback }: Reference, variables: Variables): Expanded {
  const value = name === 'workspaceFolder' ? variables.workspaceFolder : variables.env[name]
  if (fallback !== undefined && (value === undefined || value === ''))
    return expandVariables(fallback, variables)
  return value === undefined ? { missing: name } : { text: value }
}
