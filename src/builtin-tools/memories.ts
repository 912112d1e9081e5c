import type { StorageAccess } from '../capability.ts'

export interface Memory {
  readonly id: string
  readonly text: string
  readonly tags: readonly string[]
  /** ISO 8601. */
  readonly createdAt: string
}

const COUNTER = 'count'
const PREFIX = 'memory:'

/** Saves a memory under a unique id. */
export async function saveMemory(storage: StorageAccess, draft: Omit<Memory, 'id'>): Promise<Memory> {
  const number = await storage.update(COUNTER, (count) => String(Number(count ?? 0) + 1))
  const memory: Memory = { id: `M${number}`, ...draft }
  await storage.set(PREFIX + memory.id, JSON.stringify(memory))
  return memory
}

/**
 * Memories ranked by how many words of the query they contain, weighting rare words higher, then newest first. A
 * query without words returns all memories, newest first.
 */
export async function searchMemories(storage: StorageAccess, query: string): Promise<Memory[]> {
  const memories = (await readMemories(storage)).map((memory) => ({ memory, words: wordsOf(memory) }))
  const wanted = splitWords(query).map((word) => {
    const holders = memories.filter(({ words }) => holds(words, word))
    return { word, weight: Math.log(1 + memories.length / Math.max(1, holders.length)) }
  })
  const scored = memories.map(({ memory, words }) => ({
    memory,
    score: wanted.reduce((sum, { word, weight }) => sum + (holds(words, word) ? weight : 0), 0),
  }))
  return scored
    .filter(({ score }) => wanted.length === 0 || score > 0)
    .sort((a, b) => b.score - a.score || numberOf(b.memory) - numberOf(a.memory))
    .map(({ memory }) => memory)
}

async function readMemories(storage: StorageAccess): Promise<Memory[]> {
  const keys = (await storage.keys()).filter((key) => key.startsWith(PREFIX))
  const memories: Memory[] = []
  for (const key of keys) {
    const text = await storage.get(key)
    if (text !== undefined) memories.push(JSON.parse(text))
  }
  return memories
}

function wordsOf({ text, tags }: Memory): ReadonlySet<string> {
  return new Set(splitWords([text, ...tags].join(' ')))
}

function splitWords(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  return [...new Set(words.flatMap((word) => (UNSPACED.test(word) ? pairsOf(word) : [word])))]
}

/** Scripts written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** Each pair of adjacent characters, used in place of words in scripts without spaces. */
function pairsOf(text: string): string[] {
  const characters = [...text]
  if (characters.length < 2) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

/** True if a word is present. From four letters on, a prefix counts too: `deploy` finds `deployment`. */
function holds(words: ReadonlySet<string>, word: string): boolean {
  if (words.has(word)) return true
  // In these scripts a single character is often a word.
  if (UNSPACED.test(word) && [...word].length === 1) return [...words].some((held) => held.includes(word))
  if (word.length < 4) return false
  for (const held of words)
    if (held.startsWith(word) || (held.length >= 4 && word.startsWith(held))) return true
  return false
}

function numberOf({ id }: Memory): number {
  return Number(id.slice(1))
}
