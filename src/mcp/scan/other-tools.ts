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

  /** Texts that speak of a tool of another server: what to do with it is not theirs to say. */
  find(texts: readonly PlacedText[]): Pick<Finding, 'kind' | 'severity' | 'message' | 'excerpt' | 'place'>[] {
    if (this.#servers.size === 0) return []
    const found = new Map<string, ReturnType<OtherTools['find']>[number]>()
    for (const { place, text } of texts) {
      // A bare name is a value; a sentence that holds one speaks of the tool.
      if (!/\S\s+\S/.test(text)) continue
      const read = withoutHidden(text.slice(0, MAX_CHARACTERS)).normalize('NFKC').toLowerCase()
      for (const { 0: word, index } of read.matchAll(/[\p{L}\p{N}_-]{3,}/gu)) {
        const server = this.#servers.get(word.replace(/^mcp__.{1,60}?__/, ''))
        if (server === undefined || found.has(word)) continue
        const message = `speaks of "${showHidden(word)}" of the server "${showHidden(server)}"`
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
