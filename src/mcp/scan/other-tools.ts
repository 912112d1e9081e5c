import type { Finding } from '../../finding.ts'
import { withoutHidden } from '../../names.ts'
import { excerptAt, MAX_CHARACTERS, showHidden } from './hidden-characters.ts'
import type { PlacedText } from './tool-texts.ts'

/** The tools of other servers, by the names a text may call them. */
export class OtherTools {
  readonly #servers = new Map<string, string>()

  /** `own` are names of the server's own tools: a text that means one of those means its own. */
  constructor(others: ReadonlyMap<string, readonly string[]>, own: readonly string[]) {
    const taken = new Set(own.map((name) => name.toLowerCase()))
    for (const [server, names] of others)
      for (const name of names)
        if (isTelling(name) && !taken.has(name.toLowerCase())) this.#servers.set(name.toLowerCase(), server)
  }

  /** Sentences that say what to do with a tool of another server. */
  find(texts: readonly PlacedText[]): Pick<Finding, 'kind' | 'severity' | 'message' | 'excerpt' | 'place'>[] {
    if (this.#servers.size === 0) return []
    const found = new Map<string, ReturnType<OtherTools['find']>[number]>()
    for (const { place, text } of texts) {
      const read = withoutHidden(text.slice(0, MAX_CHARACTERS)).normalize('NFKC').toLowerCase()
      for (const { 0: word, index } of read.matchAll(/[\p{L}\p{N}_-]{3,}/gu)) {
        const server = this.#servers.get(word.replace(/^mcp__.{1,60}?__/, ''))
        if (server === undefined || found.has(word) || !DIRECTIVE.test(sentenceAround(read, index))) continue
        const message = `says what to do with "${showHidden(word)}" of the server "${showHidden(server)}"`
        const excerpt = excerptAt(read, index, word.length)
        found.set(word, { kind: 'precedence', severity: 'medium', message, excerpt, place })
      }
    }
    return [...found.values()]
  }
}

/** A name of one plain word, such as `search`, is a word like any other. */
function isTelling(name: string): boolean {
  return /[\p{L}\p{N}][_-][\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(name)
}

const DIRECTIVE =
  /\b(?:must|should|has to|have to|needs?|requires?|always|never|whenever|when|if|after|before|prior to|instead|do not|don't|not be used|set|replaced?|route[ds]?|forward(?:ed)?|pass(?:ed)?|broken|deprecated|outdated|obsolete|unsafe|new version|old|no longer)\b|无论|必须|不要|先|之前|代替|必ず|前に|代わりに|всегда|перед|вместо|не используй|immer|statt|bevor|toujours|avant|au lieu|siempre|antes|en lugar|sempre|em vez/

const AROUND = 200

function sentenceAround(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - AROUND), at)
  const after = text.slice(at, at + AROUND)
  const start = Math.max(...['. ', '! ', '? ', '\n\n', '。'].map((end) => before.lastIndexOf(end)))
  const end = after.search(/[.!?](?:\s|$)|\n\n|。/)
  return before.slice(start + 1) + (end < 0 ? after : after.slice(0, end))
}
