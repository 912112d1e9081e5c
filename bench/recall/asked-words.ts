import { readdir, readFile } from 'node:fs/promises'
import { splitName } from '../../packages/core/src/names.ts'
import { STOP_WORDS, wordsOf } from '../../packages/core/src/search/lexical/text-words.ts'
import { staticEmbedder } from '../../packages/embedder/src/static-embedder.ts'
import type { EvalQuery, EvalTool } from '../../packages/toolcrib/src/eval/load-case.ts'

/** The words of requests that the attacker learns for each word of a tool. */
const LEARNED_PER_WORD = 3

/** The words in which people ask for tools, learned from the requests that the attacker has. */
export class Learned {
  readonly #byTool = new Map<string, string[]>()
  readonly #byWord = new Map<string, Map<string, number>>()
  readonly #frequency = new Map<string, number>()

  readonly #examples: ReadonlyMap<string, readonly string[]>

  constructor(
    tools: readonly EvalTool[],
    training: readonly EvalQuery[],
    examples: ReadonlyMap<string, readonly string[]>,
  ) {
    this.#examples = examples
    const byId = new Map(tools.map((tool) => [tool.id, tool]))
    for (const { query, relevant } of training) {
      const words = askedWords(query)
      for (const word of words) this.#frequency.set(word, 1 + (this.#frequency.get(word) ?? 0))
      for (const id of relevant) {
        this.#byTool.set(id, [...(this.#byTool.get(id) ?? []), ...words])
        const tool = byId.get(id)
        for (const own of tool === undefined ? [] : ownWords(tool)) {
          const counts = this.#byWord.get(own) ?? new Map<string, number>()
          for (const word of words) counts.set(word, 1 + (counts.get(word) ?? 0))
          this.#byWord.set(own, counts)
        }
      }
    }
  }

  of(tool: EvalTool): string[] {
    const similar = this.examples(tool).flatMap(askedWords)
    const known = this.#byTool.get(tool.id) ?? []
    return [...new Set([...known, ...similar, ...this.around(ownWords(tool))])]
  }

  /** Requests for similar tools of other catalogues. */
  examples(tool: EvalTool): readonly string[] {
    return this.#examples.get(tool.id) ?? []
  }

  /** Words that people use who ask for tools with these words. */
  around(words: readonly string[]): string[] {
    return [...new Set(words.flatMap((word) => this.#askedWith(word)))]
  }

  #askedWith(word: string): string[] {
    const telling = ([asked, count]: [string, number]) => count / ((this.#frequency.get(asked) ?? 0) + 1)
    return [...(this.#byWord.get(word) ?? [])]
      .sort((a, b) => telling(b) - telling(a))
      .slice(0, LEARNED_PER_WORD)
      .map(([asked]) => asked)
  }
}

function ownWords({ name, description }: EvalTool): string[] {
  const words = [...splitName(name), ...wordsOf(description.slice(0, 200))]
  return [...new Set(words)].filter((word) => !STOP_WORDS.has(word))
}

function askedWords(request: string): string[] {
  return [...new Set(wordsOf(request))].filter((word) => !STOP_WORDS.has(word) && /^\p{L}{3,}$/u.test(word))
}

const EXAMPLES = 4
/** Of the requests for tools of other catalogues, one in three is enough. */
const EVERY = 3
const REQUESTS = new URL('../../scripts/train/requests/', import.meta.url)

/** The requests for tools of other catalogues that are nearest to each tool: how people ask for such a thing. */
export async function similarRequests(tools: readonly EvalTool[]): Promise<Map<string, string[]>> {
  const embedder = staticEmbedder()
  const requests: string[] = []
  for (const file of await readdir(REQUESTS))
    for (const line of (await readFile(new URL(file, REQUESTS), 'utf8')).trim().split('\n'))
      if (line.length % EVERY === 0) requests.push((JSON.parse(line) as EvalQuery).query)
  const vectors = await embedder.embed(requests)
  const texts = tools.map(
    ({ server = '', name, description }) =>
      `${server} ${splitName(name).join(' ')}. ${description.slice(0, 300)}`,
  )
  const own = await embedder.embed(texts)
  return new Map(
    tools.map(({ id }, at) => {
      const near = vectors.map((vector, row) => ({
        row,
        cosine: product(vector, own[at] as ArrayLike<number>),
      }))
      near.sort((a, b) => b.cosine - a.cosine)
      return [id, near.slice(0, EXAMPLES).map(({ row }) => requests[row] as string)]
    }),
  )
}

function product(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}
