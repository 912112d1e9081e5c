import type { Finding } from '../../finding.ts'
import { nameSkeletons, withoutHidden } from '../../names.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { excerptAt, MAX_CHARACTERS, showHidden } from './hidden-characters.ts'
import type { PlacedText } from './scan-tool.ts'

/** Shorter descriptions may be alike by chance. */
const MIN_WORDS = 6

/** How a tool looks to a hasty reader. */
export interface ToolLook {
  readonly server: string
  readonly tool: ServerTool
  /** Its name, ignoring case, separators and look-alike letters. */
  readonly name: string
  /** The words of its description; undefined when there are too few to compare. */
  readonly words: string | undefined
}

/** Looks at a tool like a hasty reader. */
export function toolLook(server: string, tool: ServerTool): ToolLook {
  const words = folded(tool.description).match(/[\p{L}\p{N}]+/gu) ?? []
  return {
    server,
    tool,
    name: nameLook(tool.name),
    words: words.length < MIN_WORDS ? undefined : words.join(' '),
  }
}

/** Compares the tools of one server with those of the others: finds names and definitions that imitate them. */
export function compareServers(
  server: string,
  looks: readonly ToolLook[],
  others: ReadonlyMap<string, readonly ToolLook[]>,
): Finding[] {
  const all = [...others.values()].flat()
  const byName = groupByName(all)
  const byWords = new Map(all.toReversed().map((look) => [look.words, look]))
  return [
    ...lookAlikeServers(server, looks, [...others.keys()]),
    ...looks.flatMap((look) => [
      ...mixedLetters(look),
      ...lookAlikes(look, byName.get(look.name) ?? []),
      ...clones(look, look.words === undefined ? undefined : byWords.get(look.words)),
      ...nearClones(look, byName.get(look.name) ?? []),
    ]),
  ]
}

function groupByName(looks: readonly ToolLook[]): Map<string, ToolLook[]> {
  const groups = new Map<string, ToolLook[]>()
  for (const look of looks) {
    const group = groups.get(look.name)
    if (group) group.push(look)
    else groups.set(look.name, [look])
  }
  return groups
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

function lookAlikeServers(
  server: string,
  [first]: readonly ToolLook[],
  others: readonly string[],
): Finding[] {
  const look = nameLook(server)
  const twin = others.find((other) => nameLook(other) === look)
  if (twin === undefined || !first) return []
  const message = `the server's name looks like that of "${showHidden(twin)}"`
  return [finding(first, 'look-alike', 'high', 'server', message, server)]
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
  const plain = (text: string) => text.toLowerCase().replace(/[\s_.\-/]/g, '')
  const twin = alike.find(({ tool }) => plain(tool.name) !== plain(look.tool.name))
  if (!twin) return []
  const message = `its name looks like "${showHidden(twin.tool.name)}" of server "${twin.server}"`
  return [finding(look, 'look-alike', 'high', 'name', message, look.tool.name)]
}

function clones(look: ToolLook, original: ToolLook | undefined): Finding[] {
  if (!original) return []
  const name = showHidden(original.tool.name)
  const message = `its description is identical to that of "${name}" of server "${original.server}"`
  const excerpt = look.tool.description.replace(/\s+/g, ' ').slice(0, 80)
  return [finding(look, 'clone', 'low', 'description', message, excerpt)]
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

/** The tools of other servers, by every name that a text may use for them. */
export class OtherTools {
  readonly #servers = new Map<string, string>()

  /** `own` are names of the server's own tools; mentions of those are ignored. */
  constructor(others: ReadonlyMap<string, readonly string[]>, own: readonly string[]) {
    const taken = new Set(own.map((name) => name.toLowerCase()))
    for (const [server, names] of others)
      for (const name of names)
        if (isTelling(name) && !taken.has(name.toLowerCase())) this.#servers.set(name.toLowerCase(), server)
  }

  /** Finds texts that mention a tool of another server: a server has no reason to give instructions for it. */
  find(texts: readonly PlacedText[]): Pick<Finding, 'kind' | 'severity' | 'message' | 'excerpt' | 'place'>[] {
    if (this.#servers.size === 0) return []
    const found = new Map<string, ReturnType<OtherTools['find']>[number]>()
    for (const { place, text } of texts) {
      // A bare name is a value; only a sentence that contains one refers to the tool.
      if (!/\S\s+\S/.test(text)) continue
      const read = withoutHidden(text.slice(0, MAX_CHARACTERS)).normalize('NFKC').toLowerCase()
      for (const { 0: word, index } of read.matchAll(/[\p{L}\p{N}_-]{3,}/gu)) {
        const server = this.#servers.get(word.replace(/^mcp__.{1,60}?__/, ''))
        if (server === undefined || found.has(word)) continue
        const message = `mentions "${showHidden(word)}" of server "${showHidden(server)}"`
        const excerpt = excerptAt(read, index, word.length)
        found.set(word, { kind: 'precedence', severity: 'medium', message, excerpt, place })
      }
    }
    return [...found.values()]
  }
}

/** False for a plain word such as `search`, which may just be a word. */
function isTelling(name: string): boolean {
  return /[\p{L}\p{N}][_-][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(name)
}
