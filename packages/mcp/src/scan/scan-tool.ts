import type { Finding } from '@toolcrib/core'
import type { Trace } from '@toolcrib/core/internal'
import { isPlainText, isRecord, nameSkeletons, withoutHidden } from '@toolcrib/core/internal'
import type { ServerTool } from '../listed/server-tool.ts'
import { encodedText, readingsOf } from './decode-text.ts'
import { excerptAt, hiddenCharacters, MAX_CHARACTERS } from './hidden-characters.ts'
import { isInstruction, sentencesOf, withoutAccents } from './instruction-model.ts'
import { withoutRestraints } from './instruction-restraints.ts'
import { RULES, SENTENCE_RULES } from './instruction-rules.ts'

/** The maximum number of findings reported per tool, the worst first. */
const MAX_FINDINGS = 10

/**
 * Finds what is suspicious in one tool's definition, wherever text may occur. `known` caches the findings of each
 * text, because the tools of one server share many.
 */
export function scanTool(
  server: string,
  tool: ServerTool,
  texts = toolTexts(tool),
  known = new Map<string, readonly Trace[]>(),
): Finding[] {
  return scanTexts({ server, tool: tool.name }, texts, known)
}

/** Finds what is suspicious in one definition of a server. */
export function scanTexts(
  owner: Pick<Finding, 'server' | 'tool' | 'item'>,
  { texts, unread }: ToolTexts,
  known: Map<string, readonly Trace[]>,
): Finding[] {
  const findings = texts.flatMap(({ place, text }) => {
    return tracesOf(text, known).map((trace): Finding => ({ ...trace, ...owner, place }))
  })
  findings.push(...acrossFields(texts, findings).map((trace) => ({ ...trace, ...owner })))
  if (unread !== undefined) {
    const message = 'is too deep or too long to be scanned completely'
    const trace = { kind: 'concealment', severity: 'medium', message, excerpt: '' } as const
    findings.push({ ...trace, ...owner, place: unread.slice(0, 200) })
  }
  return findings.sort((a, b) => RANK[b.severity] - RANK[a.severity]).slice(0, MAX_FINDINGS)
}

/** What is suspicious in one text; `known` has the texts that were read before. */
export function tracesOf(text: string, known: Map<string, readonly Trace[]>): readonly Trace[] {
  const traces = known.get(text) ?? tracesIn(text)
  known.set(text, traces)
  return traces
}

/** What is suspicious in one text. Most texts are plain and hide nothing. */
function tracesIn(text: string): Trace[] {
  const hidden = isPlainText(text) ? [] : hiddenCharacters(text)
  return [...hidden, ...findInstructions(text)]
}

/** How much of either end of a text may continue in another. */
const MAX_END = 200
const MAX_JOINED = 8_000

/** Finds instructions that are split across fields. */
function acrossFields(
  texts: readonly PlacedText[],
  known: readonly Pick<Finding, 'kind'>[],
): (Trace & { place: string })[] {
  const joined = joinedFields(texts)
  if (joined === '') return []
  const kinds = new Set(known.map(({ kind }) => kind))
  return findInstructions(joined)
    .filter(({ kind }) => !kinds.has(kind) && kind !== 'concealment' && kind !== 'fake-markup')
    .map((trace) => ({ ...trace, message: `${trace.message}, across several fields`, place: 'definition' }))
}

/**
 * The texts in sequence, as a model reads them, where one continues in the next. A text that ends in a full stop is
 * complete, so only the others are continued.
 */
export function joinedFields(texts: readonly PlacedText[]): string {
  const parts = texts.filter(({ place, text }) => /\s/.test(text) && place !== 'name').map(({ text }) => text)
  let joined = ''
  for (const [at, part] of parts.entries()) {
    const isOpen = at + 1 < parts.length && !isEnded(part)
    const isGoingOn = at > 0 && !isEnded(parts[at - 1] ?? '')
    if (isGoingOn) joined += ` ${part.length > MAX_END ? `${part.slice(0, MAX_END)}\n\n` : part}`
    if (isOpen && (!isGoingOn || part.length > MAX_END)) joined += `\n\n${part.slice(-MAX_END)}`
    if (joined.length > MAX_JOINED) break
  }
  return joined
}

function isEnded(text: string): boolean {
  return /[.!?。！？:;)]\s*$/.test(text.slice(-20))
}

const RANK = { low: 0, medium: 1, high: 2 } as const

/** One text of a definition, and its place. */
export interface PlacedText {
  readonly place: string
  readonly text: string
}

const MAX_DEPTH = 40
const MAX_TEXTS = 20_000

/** The texts of a definition, as far as it was read. */
export interface ToolTexts {
  readonly texts: readonly PlacedText[]
  /** Where the definition was too deep or too long and was not read further. */
  readonly unread: string | undefined
}

/**
 * Returns every text of a tool's definition that a model or a person may read, including parameter names and
 * everything in its schemas.
 */
export function toolTexts(tool: ServerTool): ToolTexts {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  return textsOf({ name, title, description, inputSchema, outputSchema, annotations })
}

/** Returns every text in the fields of a definition. */
export function textsOf(definition: Readonly<Record<string, unknown>>): ToolTexts {
  const found: Gathered = { texts: [], unread: undefined }
  gather(definition, '', 0, found)
  return found
}

interface Gathered {
  readonly texts: PlacedText[]
  unread: string | undefined
}

function gather(value: unknown, place: string, depth: number, found: Gathered): void {
  const { texts } = found
  if (depth > MAX_DEPTH || texts.length >= MAX_TEXTS) {
    found.unread ??= place
    return
  }
  if (typeof value === 'string') {
    texts.push({ place, text: value })
    return
  }
  const entries = Array.isArray(value) ? [...value.entries()] : isRecord(value) ? Object.entries(value) : []
  for (const [key, inner] of entries) {
    const within = place === '' ? String(key) : `${place}.${key}`
    // Below the fields of the definition, keys are the server's own words.
    if (typeof key === 'string' && depth > 0 && /[^\w$-]/.test(key)) texts.push({ place: within, text: key })
    gather(inner, within, depth + 1, found)
  }
}

/** No rule matches a text this short, and most texts of a schema are. */
const MIN_CHARACTERS = 8

/**
 * Finds passages that speak to the model rather than about the tool, one per matching rule. The text is
 * read as written and with encodings decoded. Runs in linear time.
 */
function findInstructions(text: string): Trace[] {
  if (text.length < MIN_CHARACTERS) return []
  const read = text.slice(0, MAX_CHARACTERS)
  const traces = new Map<string, Trace>()
  for (const { text: reading, encoding } of readingsOf(read)) {
    for (const trace of findIn(reading)) {
      if (traces.has(trace.message)) continue
      const message = encoding === undefined ? trace.message : `${trace.message} (encoded: ${encoding})`
      traces.set(trace.message, { ...trace, message })
    }
  }
  const hidden = encodedText(read)
  if (hidden !== undefined && traces.size === 0)
    traces.set('encoded', {
      kind: 'concealment',
      severity: 'medium',
      message: `hides text in ${hidden.encoding}`,
      excerpt: excerptAt(hidden.text, 0, 60),
    })
  if (text.length <= MAX_CHARACTERS) return [...traces.values()]
  const message = `is ${text.length} characters long; only the first ${MAX_CHARACTERS} were scanned`
  return [
    ...traces.values(),
    { kind: 'concealment', severity: 'medium', message, excerpt: excerptAt(text, 0, 40) },
  ]
}

function findIn(text: string): Trace[] {
  const [lines = '', ...others] = readableTexts(text).map(withoutRestraints)
  const words = lines.replace(/\s+/g, ' ')
  const byRules = RULES.flatMap(({ kind, severity, pattern, message, reads }): Trace[] => {
    const text = reads === 'lines' ? lines : words
    const found = pattern.exec(text)
    if (!found) return []
    return [{ kind, severity, message, excerpt: excerptAt(text, found.index, found[0].length) }]
  })
  return [
    ...byRules,
    ...[lines, ...others].flatMap((reading) => [...findSentences(reading), ...findByModel(reading)]),
  ]
}

/** Finds instructions that are written in many ways, one trace per message. Expects lower case. */
function findSentences(accented: string): Trace[] {
  const text = withoutAccents(accented)
  const traces = new Map<string, Trace>()
  for (const { sentence, at } of sentencesOf(text)) {
    for (const { kind, severity, message, parts } of SENTENCE_RULES) {
      if (traces.has(message) || !parts.every((part) => part.test(sentence))) continue
      const first = Math.min(...parts.map((part) => sentence.search(part)))
      traces.set(message, { kind, severity, message, excerpt: excerptAt(text, at + first, 60) })
    }
  }
  return [...traces.values()]
}

function findByModel(text: string): Trace[] {
  for (const { sentence, at } of sentencesOf(text))
    if (isInstruction(sentence.trim()))
      return [
        {
          kind: 'instruction',
          severity: 'medium',
          message: 'reads like an instruction to the model',
          excerpt: excerptAt(text, at, sentence.length),
        },
      ]
  return []
}

/**
 * A text in lower case without accents or hidden characters, letters of other scripts replaced by the Latin ones they look
 * like; in its own letters too where that differs.
 */
export function readableTexts(text: string): string[] {
  const visible = withoutHidden(text.replace(LINE_ENDS, '\n')).replaceAll('’', "'")
  const lines = nameSkeletons(visible).at(-1) ?? ''
  const plain = visible.normalize('NFKC').toLowerCase()
  return plain === lines ? [lines] : [lines, withoutAccents(plain)]
}

/** Some line ends count as hidden characters; removing them would join the words around them. */
const LINE_ENDS = /\r\n?|[\v\f\u0085\u2028\u2029]/g
