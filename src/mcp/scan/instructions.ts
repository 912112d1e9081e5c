import type { FindingKind, Severity, Trace } from '../../finding.ts'
import { nameSkeletons, withoutHidden } from '../../names.ts'
import { onFirstUse } from '../../on-first-use.ts'
import { encodedText, readingsOf } from './decode-text.ts'
import { ENGLISH } from './english-shapes.ts'
import { excerptAt, MAX_CHARACTERS } from './hidden-characters.ts'
import { isInstruction, sentencesOf, withoutAccents } from './instruction-model.ts'
import { MEANINGS, RULES, SECRET_FILE, type ShapeRow } from './instruction-rules.ts'
import { OTHER_LANGUAGES, type Words } from './instruction-words.ts'

/** No rule matches a text this short, and most texts of a schema are. */
const MIN_CHARACTERS = 8

/**
 * Finds passages that speak to the model rather than about the tool, one per matching rule and shape. The text is
 * read as written and with encodings decoded. Runs in linear time.
 */
export function findInstructions(text: string): Trace[] {
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
  const [lines = '', ...others] = readableTexts(text)
  const words = lines.replace(/\s+/g, ' ')
  const byRules = RULES.flatMap(({ kind, severity, pattern, message, reads }): Trace[] => {
    const text = reads === 'lines' ? lines : words
    const found = pattern.exec(text)
    if (!found) return []
    return [{ kind, severity, message, excerpt: excerptAt(text, found.index, found[0].length) }]
  })
  return [
    ...byRules,
    ...[lines, ...others].flatMap((reading) => [...findShapes(reading), ...findByModel(reading)]),
  ]
}

/** Finds sentences that have the shape of an instruction to the model, one trace per message. Expects lower case. */
function findShapes(accented: string): Trace[] {
  const text = withoutAccents(accented)
  const traces = new Map<string, Trace>()
  const shapes = allShapes().filter(({ gate }) => gate.test(text))
  if (shapes.length === 0) return []
  for (const { sentence, at } of sentencesOf(text)) {
    for (const { kind, severity, message, parts } of shapes) {
      if (traces.has(message) || !parts.every((part) => part.test(sentence))) continue
      const first = Math.min(...parts.map((part) => sentence.search(part)))
      traces.set(message, { kind, severity, message, excerpt: excerptAt(text, at + first, 60) })
    }
  }
  return [...traces.values()]
}

/**
 * The shape of an instruction to a model: a sentence in which all of these parts occur, in any order. No part has
 * unbounded repetitions, so that the search takes linear time.
 */
interface Shape {
  /** A quick check whether the text is in this language at all. */
  readonly gate: RegExp
  readonly kind: FindingKind
  readonly severity: Severity
  readonly message: string
  readonly parts: readonly RegExp[]
}

/** Every shape to look for, in lower-case text. */
const allShapes = onFirstUse(() => [
  ...ENGLISH.map((row) => shapeOf(row, /[a-z]{2} [a-z]/)),
  ...OTHER_LANGUAGES.flatMap(shapesIn),
])

/** The shapes of instructions in a language other than English. */
function shapesIn(words: Words): Shape[] {
  const rows: readonly ShapeRow[] = [
    ['override', words.ignore, words.rules],
    ['override', words.keep, words.rules, words.you],
    ['secrecy', words.nobody, words.tell],
    ['secrecy', words.keep, words.tell, words.user],
    ['secrecy', words.secret, words.user],
    ['first', words.use, words.thisTool, words.first],
    ['data', words.send, words.talk],
    ['data', words.send, words.earlier],
    ['secrets', words.send, words.keys],
    ['secrets', words.send, SECRET_FILE],
  ]
  return rows.map(([meaning, ...parts]) => {
    const plain = parts.map(({ source, flags }) => new RegExp(withoutAccents(source), flags))
    return shapeOf([meaning, ...plain], words.gate)
  })
}

function shapeOf([meaning, ...parts]: ShapeRow, gate: RegExp): Shape {
  const [kind, severity, message] = MEANINGS[meaning]
  return { gate, kind, severity, message, parts }
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
