import type { Finding } from '@toolcrib/core'
import { nameSkeletons, showHidden, withoutHidden } from '@toolcrib/core/internal'
import type { ServerTool } from '../listed/server-tool.ts'
import { excerptAt, MAX_CHARACTERS } from './hidden-characters.ts'
import { type PlacedText, toolTexts } from './scan-tool.ts'

/** Work that may pause after each step, and its result. */
export type Steps<Result> = Generator<undefined, Result, undefined>

/** Shorter descriptions may match by chance. */
const MIN_WORDS = 6

/** What a reader sees at a glance. */
export interface ToolLook {
  readonly server: string
  readonly tool: ServerTool
  /** Its name, ignoring case, separators and look-alike letters. */
  readonly name: string
  /** Its name, ignoring case and separators. */
  readonly plainName: string
  /** The words of its description; undefined when there are too few to compare. */
  readonly words: string | undefined
}

/** Reduces a tool to what a reader sees at a glance. */
export function toolLook(server: string, tool: ServerTool): ToolLook {
  const words = folded(tool.description).match(/[\p{L}\p{N}]+/gu) ?? []
  return {
    server,
    tool,
    name: nameLook(tool.name),
    plainName: tool.name.toLowerCase().replace(/[\s_.\-/]/g, ''),
    words: words.length < MIN_WORDS ? undefined : words.join(' '),
  }
}

/** How the tools of all servers look, and which names a text may use for them. Servers stay in the order they were added. */
export class SeenServers {
  readonly #names = new Map<string, string>()
  readonly #byName = new Map<string, ToolLook[]>()
  readonly #byWords = new Map<string, ToolLook[]>()
  /** The servers of each name that can only mean a tool, in lower case. */
  readonly #tellingNames = new Map<string, string[]>()

  add(server: string, looks: readonly ToolLook[]): void {
    this.#names.set(server, nameLook(server))
    for (const look of looks) {
      append(this.#byName, look.name, look)
      if (look.words !== undefined) append(this.#byWords, look.words, look)
      if (isTelling(look.tool.name)) append(this.#tellingNames, look.tool.name.toLowerCase(), server)
    }
  }

  /** Removes a server with the looks it was added with. */
  remove(server: string, looks: readonly ToolLook[]): void {
    const isOther = (look: ToolLook) => look.server !== server
    this.#names.delete(server)
    keepOnly(this.#byName, new Set(looks.map(({ name }) => name)), isOther)
    keepOnly(this.#byWords, new Set(looks.map(({ words = '' }) => words)), isOther)
    const names = new Set(looks.map(({ tool }) => tool.name.toLowerCase()))
    keepOnly(this.#tellingNames, names, (other) => other !== server)
  }

  /** Compares the tools of another server with these: finds names and definitions that imitate them. */
  *compare(server: string, looks: readonly ToolLook[]): Steps<Finding[]> {
    const findings = this.#lookAlikeServers(server, looks)
    for (const look of looks) {
      yield
      const namesakes = (this.#byName.get(look.name) ?? []).slice(0, MAX_COMPARED)
      findings.push(
        ...mixedLetters(look),
        ...lookAlikes(look, namesakes),
        ...clones(look, look.words === undefined ? undefined : this.#byWords.get(look.words)?.[0]),
        ...nearClones(look, namesakes),
      )
    }
    return findings
  }

  /**
   * Finds texts of another server that mention one of these tools: a server has no reason to give instructions for it.
   * Names that the server uses itself are ignored.
   */
  *findMentions(server: string, tools: readonly ServerTool[]): Steps<Finding[]> {
    const own = new Set(tools.map(({ name }) => name.toLowerCase()))
    if (!hasOther(this.#tellingNames.keys(), own)) return []
    const serverOf = (name: string) => (own.has(name) ? undefined : this.#tellingNames.get(name)?.at(-1))
    const findings: Finding[] = []
    for (const tool of tools) {
      yield
      for (const found of mentionsIn(toolTexts(tool).texts, serverOf))
        findings.push({ ...found, server, tool: tool.name })
    }
    return findings
  }

  #lookAlikeServers(server: string, [first]: readonly ToolLook[]): Finding[] {
    const look = nameLook(server)
    const twin = keyOf(this.#names, look)
    if (twin === undefined || !first) return []
    const message = `the server's name looks like that of "${showHidden(twin)}"`
    return [finding(first, 'look-alike', 'high', 'server', message, server)]
  }
}

/** The maximum number of tools with similar names that one is compared with: two servers may list thousands of them. */
const MAX_COMPARED = 50

function hasOther(names: Iterable<string>, own: ReadonlySet<string>): boolean {
  for (const name of names) if (!own.has(name)) return true
  return false
}

function keyOf(entries: Iterable<readonly [string, string]>, wanted: string): string | undefined {
  for (const [key, value] of entries) if (value === wanted) return key
  return undefined
}

function append<Value>(groups: Map<string, Value[]>, key: string, value: Value): void {
  const group = groups.get(key)
  if (group) group.push(value)
  else groups.set(key, [value])
}

/** Each group is read once, since all tools of a hostile server may be in one. */
function keepOnly<Value>(
  groups: Map<string, Value[]>,
  keys: ReadonlySet<string>,
  isKept: (value: Value) => boolean,
): void {
  for (const key of keys) {
    const kept = groups.get(key)?.filter(isKept) ?? []
    if (kept.length > 0) groups.set(key, kept)
    else groups.delete(key)
  }
}

function folded(text: string): string {
  return nameSkeletons(text).at(-1) ?? text
}

function nameLook(name: string): string {
  return folded(name)
    .replace(/[\s_.\-/]/g, '')
    .replaceAll('0', 'o')
    .replace(/[1i|]/g, 'l')
    .replaceAll('rn', 'm')
}

const LOOK_ALIKE_SCRIPTS =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}]/u

/** A Latin word with a few look-alike letters of another script is meant to deceive. */
function mixedLetters(look: ToolLook): Finding[] {
  const words = look.tool.name.split(/[\s_.\-/]+/)
  const isMixed = words.some((word) => /\p{Script=Latin}/u.test(word) && LOOK_ALIKE_SCRIPTS.test(word))
  if (!isMixed) return []
  const message = 'its name mixes Latin letters with look-alikes from another script'
  return [finding(look, 'look-alike', 'high', 'name', message, look.tool.name)]
}

/** The same name on two servers is common; a name that only looks the same is not. */
function lookAlikes(look: ToolLook, alike: readonly ToolLook[]): Finding[] {
  const twin = alike.find(({ plainName }) => plainName !== look.plainName)
  if (!twin) return []
  const message = `its name looks like "${showHidden(twin.tool.name)}" of server "${twin.server}"`
  return [finding(look, 'look-alike', 'high', 'name', message, look.tool.name)]
}

function clones(look: ToolLook, original: ToolLook | undefined): Finding[] {
  if (!original) return []
  const { server, tool } = original
  const message = `its description is identical to that of "${showHidden(tool.name)}" of server "${server}"`
  const excerpt = look.tool.description.replace(/\s+/g, ' ').slice(0, 80)
  const clone = finding(look, 'clone', 'low', 'description', message, excerpt)
  return [{ ...clone, original: { server, tool: tool.name } }]
}

/** A tool copied with its name and then extended: the addition may be the purpose of the copy. */
function nearClones(look: ToolLook, namesakes: readonly ToolLook[]): Finding[] {
  const original = namesakes.find(({ words }) => words !== look.words && holds(look.words, words))
  if (!original) return []
  const message = `it copies the name and description of a tool of server "${original.server}" and adds to the description`
  const excerpt = look.tool.description.replace(/\s+/g, ' ').slice(-80)
  return [finding(look, 'clone', 'medium', 'description', message, excerpt)]
}

function holds(words = '', original: string | undefined): boolean {
  return original !== undefined && ` ${words} `.includes(` ${original} `)
}

function finding(
  { server, tool }: ToolLook,
  kind: Finding['kind'],
  severity: Finding['severity'],
  place: string,
  message: string,
  excerpt: string,
): Finding {
  return { kind, severity, server, tool: tool.name, place, message, excerpt: showHidden(excerpt) }
}

function mentionsIn(
  texts: readonly PlacedText[],
  serverOf: (name: string) => string | undefined,
): Omit<Finding, 'server' | 'tool'>[] {
  const found = new Map<string, Omit<Finding, 'server' | 'tool'>>()
  for (const { place, text } of texts) {
    // A bare name is a value; only a sentence that contains one refers to the tool.
    if (!/\S\s+\S/.test(text)) continue
    const read = withoutHidden(text.slice(0, MAX_CHARACTERS)).normalize('NFKC').toLowerCase()
    for (const { 0: word, index } of read.matchAll(/[\p{L}\p{N}_-]{3,}/gu)) {
      const server = serverOf(word.replace(/^mcp__.{1,60}?__/, ''))
      if (server === undefined || found.has(word)) continue
      const message = `mentions "${showHidden(word)}" of server "${showHidden(server)}"`
      const excerpt = excerptAt(read, index, word.length)
      found.set(word, { kind: 'precedence', severity: 'medium', message, excerpt, place })
    }
  }
  return [...found.values()]
}

/** False for a plain word such as `search`, which may just be a word. */
function isTelling(name: string): boolean {
  return /[\p{L}\p{N}][_-][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(name)
}
