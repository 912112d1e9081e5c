import type { Clock, StorageAccess, Tool } from '@toolcrib/core'
import { defineTool, jsonReducer } from '@toolcrib/core'
import { readClock } from '@toolcrib/core/internal'
import { answering, granted, success } from './answering.ts'

/** `memory_save`: saves a note for later conversations. */
export function memorySaveTool({ clock = Date }: { clock?: Clock } = {}): Tool {
  const now = readClock(clock)
  return defineTool({
    name: 'memory_save',
    title: 'Remember something',
    description:
      'Saves a fact, preference or decision for later conversations. Write it so that it can be understood without context. Find it again with memory_search.',
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', minLength: 1, maxLength: 10_000, description: 'What to remember' },
        tags: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          maxItems: 20,
          description: 'Extra words to find it by',
        },
      },
      required: ['text'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    toolset: 'memory',
    searchHint: 'remember note store keep for later preference fact',
    capabilities: { storage: true },
    execute: answering(async ({ text, tags = [] }, ctx) => {
      const createdAt = new Date(now()).toISOString()
      const memory = await saveMemory(granted(ctx, 'storage'), { text, tags, createdAt })
      return success(`Remembered as ${memory.id}.`, memory)
    }),
  })
}

/** `memory_search`: finds saved memories. */
export function memorySearchTool(): Tool {
  return defineTool({
    name: 'memory_search',
    title: 'Search memories',
    description:
      'Finds memories saved with memory_save in this or earlier conversations by their words. Without a query, returns the newest. ' +
      'Returns a JSON array of { id, text, tags, createdAt }, best match first.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Words to search for' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          description: 'Maximum number of memories to return; 10 by default',
        },
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    toolset: 'memory',
    searchHint: 'recall remembered notes facts preferences from before',
    capabilities: { storage: true },
    reduce: jsonReducer({ toolName: 'memory_search', maxItems: 20, sampleItems: 20, maxTextChars: 1_000 })
      .reduce,
    execute: answering(async ({ query = '', limit = 10 }, ctx) => {
      const memories = (await searchMemories(granted(ctx, 'storage'), query)).slice(0, limit)
      return success(JSON.stringify(memories), memories)
    }),
  })
}

interface Memory {
  readonly id: string
  readonly text: string
  readonly tags: readonly string[]
  /** ISO 8601. */
  readonly createdAt: string
}

const COUNTER = 'count'
const PREFIX = 'memory:'

/** Saves a memory under a unique id. */
async function saveMemory(storage: StorageAccess, draft: Omit<Memory, 'id'>): Promise<Memory> {
  const number = await storage.update(COUNTER, (count) => String(Number(count ?? 0) + 1))
  const memory: Memory = { id: `M${number}`, ...draft }
  await storage.set(PREFIX + memory.id, JSON.stringify(memory))
  return memory
}

/**
 * Memories ranked by how many words of the query they contain, weighting rare words higher, then newest first. A
 * query without words returns all memories, newest first.
 */
async function searchMemories(storage: StorageAccess, query: string): Promise<Memory[]> {
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
