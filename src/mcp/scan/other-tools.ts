import type { Finding } from '../../finding.ts'
import { withoutHidden } from '../../names.ts'
import { excerptAt, MAX_CHARACTERS, showHidden } from './hidden-characters.ts'
import type { PlacedText } from './tool-texts.ts'

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
