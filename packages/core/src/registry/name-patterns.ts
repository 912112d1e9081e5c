import { isMetaTool, isPlainText, isServed, nameSkeletons, sourceName } from '../names.ts'
import type { ToolSource } from '../tool.ts'

/** A tool as lists of names may name it. */
export interface NamedTool {
  /** The registered name: `mcp__github__search`. */
  readonly name: string
  /** The name its source gave it: `search`. */
  readonly ownName: string
  readonly source: ToolSource
}

/**
 * Names and globs that permit tools, in any spelling of a call: `mcp__github__search`, `github__search`,
 * `github.search`, `search`. Case is ignored where the server is named, because two registered names never differ by
 * case alone.
 */
export class PermittingNames {
  readonly #isListed: (name: string) => boolean
  readonly #isListedBare: (name: string) => boolean

  constructor(patterns: readonly string[]) {
    this.#isListed = matcher(patterns.map(lowerCase))
    this.#isListedBare = matcher(patterns)
  }

  /** `isTaken`: whether a tool that is from no server has this name, so that the name alone means that one. */
  has({ name, ownName, source }: NamedTool, isTaken?: (name: string) => boolean): boolean {
    if (this.#isListed(lowerCase(name))) return true
    if (!isServed(source)) return false
    // What begins like a registered name is one: a server called `mcp` must not take over the names of others.
    const isQualified = ['__', '.']
      .map((joint) => lowerCase(`${sourceName(source)}${joint}${ownName}`))
      .some((spelled) => !/^(mcp|openapi)__/.test(spelled) && this.#isListed(spelled))
    return isQualified || (this.#isListedBare(ownName) && isTaken?.(ownName) !== true)
  }
}

/**
 * Names and globs that refuse tools. They read more widely than those that permit: case, separators, accents and
 * look-alike characters are ignored, so that neither a slip of the author nor a server's choice of letters evades them.
 */
export class RefusingNames {
  readonly #isListed: (name: string) => boolean
  readonly #joined: ReadonlySet<string>
  readonly #hasGlobs: boolean

  constructor(patterns: readonly string[]) {
    const folded = patterns.flatMap(foldings)
    this.#isListed = matcher(folded)
    this.#joined = new Set(folded.filter((name) => !name.includes('*')).map(joined))
    this.#hasGlobs = folded.some((name) => name.includes('*'))
  }

  has(tool: NamedTool): boolean {
    return this.#mayHave(tool) && this.hasSpelling(spellingsOf(tool))
  }

  /** Every spelling of a name is an end of it. This is checked first, because a policy reads the name of every tool. */
  #mayHave({ name }: NamedTool): boolean {
    if (this.#hasGlobs || !isPlainText(name)) return true
    for (const listed of this.#joined) if (endsIn(name, listed)) return true
    return false
  }

  hasName(name: string): boolean {
    return this.hasSpelling(foldings(name))
  }

  /** Whether one of these spellings, as `spellingsOf()` returns them, is listed. */
  hasSpelling(spellings: readonly string[]): boolean {
    return spellings.some(
      (name) => this.#isListed(name) || (this.#joined.size > 0 && this.#joined.has(joined(name))),
    )
  }
}

/** The folded forms of all names that a call may use for a tool. A meta-tool's name alone means the meta-tool. */
export function spellingsOf({ name, ownName, source }: NamedTool): readonly string[] {
  const full = foldings(name)
  if (!isServed(source)) return withTrimmed(full)
  const qualified = full.map((folded) => folded.slice(source.kind.length + 1))
  return withTrimmed([...full, ...qualified, ...(isMetaTool(ownName) ? [] : foldings(ownName))])
}

/** Folded names, also without separators around them. Globs keep theirs: `_*` means the names that begin so. */
function withTrimmed(names: readonly string[]): readonly string[] {
  if (!names.some((name) => name.startsWith('_') || name.endsWith('_'))) return names
  return [...names, ...names.map((name) => name.replace(/^_|_$/g, '')).filter((name) => name !== '')]
}

/** The forms of a name or glob without case, accents and look-alikes, its words joined by `_`. */
function foldings(name: string): readonly string[] {
  if (isPlainText(name)) return withParts(name, /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g).map(fold)
  const bare = name.normalize('NFKD').replace(/\p{M}+/gu, '')
  const forms = withParts(bare, /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu)
  return forms.flatMap(nameSkeletons).map((form) => fold(form.replace(/[^\p{L}\p{N}*|]+/gu, '_')))
}

/** A name as it is, and with `_` where its words begin. */
function withParts(name: string, starts: RegExp): readonly string[] {
  const parted = name.replace(starts, '_')
  return parted === name ? [name] : [name, parted]
}

function fold(name: string): string {
  let folded = ''
  let last = ''
  for (let at = 0; at < name.length; at++) {
    const next = FOLDED[name.charCodeAt(at)] ?? name.charAt(at)
    if (next !== '_' || last !== '_') folded += next
    last = next
  }
  return folded
}

const ALIKE: Readonly<Record<string, string>> = { i: 'l', '1': 'l', '|': 'l', '0': 'o' }
const FOLDED: readonly string[] = Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code).toLowerCase()
  return /[a-z0-9|*]/.test(letter) ? (ALIKE[letter] ?? letter) : '_'
})

/** Whether a plain name, folded and joined, ends in another one. */
function endsIn(name: string, end: string): boolean {
  let left = end.length
  for (let at = name.length - 1; left > 0; at--) {
    const letter = FOLDED[name.charCodeAt(at)]
    if (letter !== '_' && letter !== end[--left]) return false
  }
  return true
}

function joined(name: string): string {
  return name.replaceAll('_', '')
}

/** Only of ASCII: other letters may become those of another name, as the Kelvin sign becomes `k`. */
function lowerCase(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** Returns a function that tests whether a list of names and globs contains a name. */
export function matcher(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.includes('*')))
  const globs = patterns.filter((pattern) => pattern.includes('*')).map((glob) => glob.split('*'))
  return (name) => names.has(name) || globs.some((pieces) => matchesGlob(name, pieces))
}

// A glob is its literal pieces in order: anchored first, anchored last, the rest found left to right. Linear, unlike a regex.
function matchesGlob(name: string, pieces: readonly string[]): boolean {
  const first = pieces[0] ?? ''
  const last = pieces[pieces.length - 1] ?? ''
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last))
    return false
  let from = first.length
  const end = name.length - last.length
  for (const piece of pieces.slice(1, -1)) {
    const at = name.indexOf(piece, from)
    if (at < 0 || at + piece.length > end) return false
    from = at + piece.length
  }
  return true
}
