/** Options of the syntax. Groups such as `(?i)` and `(?s:…)` change them inside a pattern. */
export interface PatternFlags {
  readonly ignoreCase: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
}

/** A pattern as a tree. */
export type PatternNode =
  | { readonly kind: 'character'; readonly set: CharacterSet }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly node: PatternNode; readonly min: number; readonly max: number }

export type Assertion = 'text-start' | 'text-end' | 'line-start' | 'line-end' | 'word-edge' | 'no-word-edge'

/** The maximum depth of groups; deeper ones only serve to exhaust the stack. */
const MAX_DEPTH = 200

/**
 * Reads the syntax of a pattern: that of JavaScript with what RE2 adds (`(?i)`, `\A`, `\z`, `[[:alpha:]]`,
 * `(?P<name>…)`). Throws an `Error` that says what is wrong with it.
 */
export function readPattern(source: string, flags: PatternFlags): PatternNode {
  return new PatternReader(source, flags).read()
}

/** A set of characters. The platform's own regular expressions decide which characters are in it. */
export class CharacterSet {
  readonly #pattern: RegExp
  /** By ASCII code: 0 unknown, 1 in the set, 2 not in it. */
  readonly #ascii = new Uint8Array(128)

  /** `source` is one item or a class in brackets, in the syntax of the flag `u`. */
  constructor(source: string, ignoreCase: boolean) {
    this.#pattern = new RegExp(`^${source}$`, ignoreCase ? 'iu' : 'u')
  }

  has(code: number): boolean {
    if (code >= 128) return this.#pattern.test(String.fromCodePoint(code))
    if (this.#ascii[code] === 0) this.#ascii[code] = this.#pattern.test(String.fromCodePoint(code)) ? 1 : 2
    return this.#ascii[code] === 1
  }
}

const LOOKAROUND = /^\(\?<?[=!]/
const GROUP_NAME = /^\(\?P?<[\p{L}_$][\p{L}\p{N}_$]*>/u
const GROUP_FLAGS = /^\(\?([ims]*)(?:-([ims]+))?([:)])/
const COUNT = /^\{(\d+)(,(\d*))?\}/

/** Reads the syntax of one pattern, from left to right. */
class PatternReader {
  readonly #source: string
  #at = 0
  #depth = 0
  #flags: PatternFlags
  readonly #sets = new Map<string, CharacterSet>()

  constructor(source: string, flags: PatternFlags) {
    this.#source = source
    this.#flags = flags
  }

  read(): PatternNode {
    const node = this.#choice()
    if (this.#at < this.#source.length) throw new Error('a ")" closes no group; write \\) for the character')
    return node
  }

  #choice(): PatternNode {
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    return options.length === 1 ? (options[0] as PatternNode) : { kind: 'choice', options }
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = []
    while (this.#at < this.#source.length && !this.#isNext('|') && !this.#isNext(')'))
      items.push(this.#repeated(this.#item()))
    return items.length === 1 ? (items[0] as PatternNode) : { kind: 'sequence', items }
  }

  #repeated(node: PatternNode): PatternNode {
    const bounds = this.#quantifier()
    if (bounds === undefined) return node
    // A lazy quantifier finds another match, but does not change whether there is one.
    this.#take('?')
    if (this.#quantifier() !== undefined) throw new Error('a quantifier follows a quantifier')
    return { kind: 'repeat', node, ...bounds }
  }

  #quantifier(): { min: number; max: number } | undefined {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.#take('?')) return { min: 0, max: 1 }
    const count = this.#match(COUNT)
    if (count === undefined) return undefined
    const min = Number(count[1])
    const max = count[2] === undefined ? min : count[3] ? Number(count[3]) : Number.POSITIVE_INFINITY
    if (min > max) throw new Error(`${count[0]} counts down`)
    return { min, max }
  }

  #item(): PatternNode {
    if (this.#isNext('(')) return this.#group()
    if (this.#take('.')) return this.#set(this.#flags.dotAll ? '[^]' : '.')
    if (this.#take('^')) return { kind: 'assert', what: this.#flags.multiline ? 'line-start' : 'text-start' }
    if (this.#take('$')) return { kind: 'assert', what: this.#flags.multiline ? 'line-end' : 'text-end' }
    if (this.#take('[')) return this.#class()
    if (this.#isNext('\\')) return this.#escape()
    const start = this.#at
    if (this.#quantifier() !== undefined)
      throw new Error(`there is nothing to repeat before ${this.#source.slice(start, this.#at)}`)
    return this.#set(literal(this.#character()))
  }

  #group(): PatternNode {
    if (this.#rest(LOOKAROUND)) throw new Error('lookaround is not supported: it cannot take linear time')
    if (++this.#depth > MAX_DEPTH) throw new Error(`its groups nest more than ${MAX_DEPTH} deep`)
    const flags = this.#flags
    const changed = this.#match(GROUP_FLAGS)
    if (changed !== undefined) {
      this.#flags = changedFlags(flags, changed[1] ?? '', changed[2] ?? '')
      // `(?i)` applies to the end of the enclosing group.
      if (changed[3] === ')') {
        this.#depth--
        return { kind: 'sequence', items: [] }
      }
    } else if (this.#match(GROUP_NAME) === undefined) {
      if (this.#source.startsWith('(?', this.#at)) throw new Error('it has an unknown kind of group')
      this.#at++
    }
    const node = this.#choice()
    if (!this.#take(')')) throw new Error('a group is not closed; write \\( for the character')
    this.#depth--
    this.#flags = flags
    return node
  }

  #escape(): PatternNode {
    const letter = this.#source[this.#at + 1]
    const what = letter === undefined ? undefined : ASSERTIONS.get(letter)
    if (what !== undefined) {
      this.#at += 2
      return { kind: 'assert', what }
    }
    if (letter !== undefined && /[1-9k]/.test(letter))
      throw new Error('backreferences are not supported: they cannot take linear time')
    return this.#set(this.#escaped())
  }

  #class(): PatternNode {
    const isNegated = this.#take('^')
    let items = ''
    while (!this.#take(']')) {
      const start = this.#classItem()
      if (typeof start === 'string' || !this.#source.startsWith('-', this.#at)) {
        items += typeof start === 'string' ? start : literal(start)
        continue
      }
      if (this.#source[this.#at + 1] === ']') {
        items += literal(start)
        continue
      }
      this.#at++
      const end = this.#classItem()
      if (typeof end === 'string') items += `${literal(start)}\\-${end}`
      else if (end < start) throw new Error('a range in brackets counts down')
      else items += `${literal(start)}-${literal(end)}`
    }
    if (items === '') return isNegated ? this.#set('[^]') : this.#set('[]')
    return this.#set(`[${isNegated ? '^' : ''}${items}]`)
  }

  /** One item of a class: a character by its code, or a set as written in the source of a class. */
  #classItem(): number | string {
    const named = this.#match(/^\[:(\^?)([a-z]+):\]/)
    if (named !== undefined) {
      const set = NAMED_SETS.get(named[2] ?? '')
      if (set === undefined) throw new Error(`${named[0]} is not a known class`)
      return named[1] === '' ? set : complementOf(set)
    }
    if (this.#at >= this.#source.length) throw new Error('a "[" is not closed; write \\[ for the character')
    if (!this.#isNext('\\')) return this.#character()
    if (this.#match(/^\\b/) !== undefined) return 8
    const escaped = this.#escaped()
    const code = /^\\u\{([\da-f]+)\}$/.exec(escaped)?.[1]
    return code === undefined ? escaped : Number.parseInt(code, 16)
  }

  /** Reads an escape; returns it in the syntax of the flag `u`. */
  #escaped(): string {
    const set = this.#match(/^\\[dDwWsS]/)
    if (set !== undefined) return set[0]
    const property = this.#match(/^\\(p|P)(?:\{(\^?)([\w=\s-]+)\}|(\p{Lu}))/u)
    if (property !== undefined) {
      const isNegated = (property[1] === 'P') !== (property[2] === '^')
      return propertySource(isNegated ? 'P' : 'p', property[3] ?? property[4] ?? '')
    }
    const hex = this.#match(/^\\(?:x([\da-f]{2})|u([\da-f]{4})|[ux]\{([\da-f]{1,6})\})/i)
    if (hex !== undefined) return this.#hexadecimal(Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? '', 16))
    const control = this.#match(/^\\c([a-z])/i)
    if (control !== undefined) return literal((control[1] as string).charCodeAt(0) % 32)
    this.#at++
    if (this.#at >= this.#source.length) throw new Error('it ends with a single \\')
    const code = this.#character()
    const character = String.fromCodePoint(code)
    const known = CONTROL_CHARACTERS.get(character)
    if (known !== undefined) return literal(known)
    if (/[\p{L}\p{N}]/u.test(character)) throw new Error(`\\${character} is not a known escape`)
    return literal(code)
  }

  /** A code that was written in hexadecimal; two halves of a surrogate pair become one character. */
  #hexadecimal(code: number): string {
    if (code > 0x10ffff) throw new Error(`${code.toString(16)} is not the code of a character`)
    if (code < 0xd800 || code > 0xdbff) return literal(code)
    const low = this.#match(/^\\u(d[c-f][\da-f]{2})/i)
    if (low === undefined) return literal(code)
    return literal((code - 0xd800) * 0x400 + (Number.parseInt(low[1] as string, 16) - 0xdc00) + 0x10000)
  }

  #set(source: string): PatternNode {
    const key = `${this.#flags.ignoreCase ? 'i' : ''}${source}`
    const set = this.#sets.get(key) ?? new CharacterSet(source, this.#flags.ignoreCase)
    this.#sets.set(key, set)
    return { kind: 'character', set }
  }

  #character(): number {
    const code = this.#source.codePointAt(this.#at) as number
    this.#at += code > 0xffff ? 2 : 1
    return code
  }

  #isNext(character: string): boolean {
    return this.#source[this.#at] === character
  }

  #take(character: string): boolean {
    if (!this.#isNext(character)) return false
    this.#at++
    return true
  }

  #rest(pattern: RegExp): RegExpExecArray | undefined {
    return pattern.exec(this.#source.slice(this.#at)) ?? undefined
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    const found = this.#rest(pattern)
    if (found !== undefined) this.#at += found[0].length
    return found
  }
}

const ASSERTIONS: ReadonlyMap<string, Assertion> = new Map([
  ['A', 'text-start'],
  ['z', 'text-end'],
  ['b', 'word-edge'],
  ['B', 'no-word-edge'],
])

const CONTROL_CHARACTERS: ReadonlyMap<string, number> = new Map(
  Object.entries({ 0: 0, t: 9, n: 10, v: 11, f: 12, r: 13 }),
)

const NAMED_SETS: ReadonlyMap<string, string> = new Map([
  ['alnum', '0-9A-Za-z'],
  ['alpha', 'A-Za-z'],
  ['blank', '\\t '],
  ['digit', '0-9'],
  ['lower', 'a-z'],
  ['punct', '!-\\/:-@\\[-`\\{-~'],
  ['space', '\\t-\\r '],
  ['upper', 'A-Z'],
  ['word', '\\w'],
  ['xdigit', '0-9A-Fa-f'],
])

/** The complement of a named set, as ranges of a class: `[[:^digit:]]`. */
function complementOf(set: string): string {
  const inside = new RegExp(`^[${set}]$`, 'u')
  let ranges = `\\u{80}-\\u{10ffff}`
  for (let code = 0; code < 128; code++) if (!inside.test(String.fromCodePoint(code))) ranges += literal(code)
  return ranges
}

function changedFlags(flags: PatternFlags, on: string, off: string): PatternFlags {
  const value = (letter: string, before: boolean) => (before || on.includes(letter)) && !off.includes(letter)
  return {
    ignoreCase: value('i', flags.ignoreCase),
    multiline: value('m', flags.multiline),
    dotAll: value('s', flags.dotAll),
  }
}

/** A Unicode property; a script may be named alone, as in `\p{Greek}`. */
function propertySource(letter: string, name: string): string {
  for (const source of [`\\${letter}{${name}}`, `\\${letter}{Script=${name}}`]) {
    if (isReadable(source)) return source
  }
  throw new Error(`there is no Unicode property "${name}"`)
}

function isReadable(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

function literal(code: number): string {
  return `\\u{${code.toString(16)}}`
}
