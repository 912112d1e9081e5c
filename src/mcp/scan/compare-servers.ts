import type { Finding } from '../../finding.ts'
import { nameSkeletons } from '../../names.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { showHidden } from './hidden-characters.ts'

/** Descriptions with so few words are alike by chance. */
const MIN_WORDS = 6

/** What a tool looks like to a hasty reader. */
export interface ToolLook {
  readonly server: string
  readonly tool: ServerTool
  /** Its name, where case, separators and letters that look alike do not count. */
  readonly name: string
  /** The words of its description; undefined when there are too few to prove anything. */
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

/** How the tools of one server look beside those of the others: names and definitions made to be taken for theirs. */
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

/** A word of Latin letters with a few of another script among them is a word made to deceive. */
function mixedLetters(look: ToolLook): Finding[] {
  const words = look.tool.name.split(/[\s_.\-/]+/)
  const isMixed = words.some((word) => /\p{Script=Latin}/u.test(word) && LOOK_ALIKE_SCRIPTS.test(word))
  if (!isMixed) return []
  const message = 'its name mixes Latin letters with ones of another script that look like them'
  return [finding(look, 'look-alike', 'high', 'name', message, look.tool.name)]
}

/** The same name on two servers is common; a name that only looks the same is not. */
function lookAlikes(look: ToolLook, alike: readonly ToolLook[]): Finding[] {
  const plain = (text: string) => text.toLowerCase().replace(/[\s_.\-/]/g, '')
  const twin = alike.find(({ tool }) => plain(tool.name) !== plain(look.tool.name))
  if (!twin) return []
  const message = `its name looks like "${showHidden(twin.tool.name)}" of the server "${twin.server}"`
  return [finding(look, 'look-alike', 'high', 'name', message, look.tool.name)]
}

function clones(look: ToolLook, original: ToolLook | undefined): Finding[] {
  if (!original) return []
  const name = showHidden(original.tool.name)
  const message = `it describes itself word for word like "${name}" of the server "${original.server}"`
  const excerpt = look.tool.description.replace(/\s+/g, ' ').slice(0, 80)
  return [finding(look, 'clone', 'low', 'description', message, excerpt)]
}

/** One that was copied, name and all, and then added to: what was added may be what it was copied for. */
function nearClones(look: ToolLook, namesakes: readonly ToolLook[]): Finding[] {
  const original = namesakes.find(({ words }) => words !== look.words && holds(look.words, words))
  if (!original) return []
  const message = `it bears the name of a tool of the server "${original.server}", and adds to its description`
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
