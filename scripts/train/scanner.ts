/**
 * Trains the model that recognises instructions in tool definitions.
 *
 *   npm run train -- scanner [--check]
 *
 * Attacks and harmless tools are in scripts/train/scanner/*.jsonl, one set per author; the definitions of published
 * servers (`../shared/data`) are the harmless rest. `--check` leaves out one set and a third of the servers at a time and reports
 * what is found of the set at the score that 5.5 % of the tools of those servers exceed; it writes nothing.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { ServerTool } from '../../packages/mcp/src/listed/server-tool.ts'
import {
  BUCKETS,
  featuresOf,
  STEPS,
  scaleOf,
  scoreOf,
  sentencesOf,
} from '../../packages/mcp/src/scan/instruction-model.ts'
import { joinedFields, readableTexts, toolTexts } from '../../packages/mcp/src/scan/scan-tool.ts'
import { seededRandom, shuffled } from './random.ts'

const SETS = fileURLToPath(new URL('./scanner/', import.meta.url))
const DATA = fileURLToPath(new URL('../../../shared/data/', import.meta.url))
/** The sets that the rules were written with. */
const EARLIER = fileURLToPath(new URL('../../packages/mcp/src/scan/instruction-cases.jsonl', import.meta.url))
const OUT = fileURLToPath(new URL('../../packages/mcp/src/scan/instruction-weights.ts', import.meta.url))

/** What an example of importance 1 on the wrong side costs, beside the squares of the weights. */
const COST = 0.3
/** As large as some of a sentence's features together, so that the bias is free to move. */
const BIAS_FEATURE = 3
/** So many weights are kept. */
const KEPT = 30_000
/** Other catalogues of harmless tools. */
const CATALOGUES = ['catalog-toucan', 'toolbench', 'bfcl', 'livemcpbench', 'metatool', 'azure-mcp']
/** The share of harmless tools that may exceed the score. */
const FALSE_ALARMS = 0.055

interface Case {
  readonly label: 'attack' | 'harmless'
  readonly category?: string
  readonly says?: readonly string[]
  readonly tool: ServerTool
}

interface EarlierCase {
  readonly category: string
  readonly tool: ServerTool
}

interface Example {
  readonly features: readonly number[]
  readonly isAttack: boolean
  readonly importance: number
}

interface Model {
  readonly weights: Float32Array
  readonly bias: number
}

type Features = readonly (readonly number[])[]

interface CaseFeatures {
  readonly attack: boolean
  readonly category: string
  readonly examples: readonly Example[]
  readonly sentences: Features
}

export async function trainScanner(): Promise<void> {
  const { check } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true }).values
  if (!existsSync(DATA))
    throw new Error(`${DATA} is missing: the definitions of published servers are needed`)
  const sets = new Map(
    readdirSync(SETS).map((file) => [
      basename(file, '.jsonl'),
      readLines<Case>(join(SETS, file)).map(toCase),
    ]),
  )
  sets.set('earlier', readLines<EarlierCase>(EARLIER).map(toEarlierCase))
  const servers = readServers()
  const catalogues = CATALOGUES.flatMap((name) => readLines<ServerTool>(join(DATA, name, 'tools.jsonl')))
  const distractors = [...new Set(catalogues.flatMap(sentencesOfTool))].map((sentence) =>
    harmless(sentence, 0.7),
  )
  const learn = (left: string | undefined, isLeft: (server: string) => boolean): Model =>
    train([
      ...[...sets]
        .filter(([name]) => name !== left)
        .flatMap(([, cases]) => cases.flatMap(({ examples }) => examples)),
      ...[...frequencies([...servers].filter(([name]) => !isLeft(name)).flatMap(([, tools]) => tools))].map(
        ([sentence, tools]) => harmless(sentence, 1 + Math.log2(tools)),
      ),
      ...distractors,
    ])
  const names = shuffled([...servers.keys()], seededRandom(7))
  const thirds = [0, 1, 2].map((third) => names.filter((_, at) => at % 3 === third))
  if (check) {
    for (const [at, name] of [...sets.keys()].entries()) {
      const left = thirds[at % 3] ?? []
      const model = learn(name, (server) => left.includes(server))
      report(name, model, sets.get(name) ?? [], alarmScore(scoresOf(model, left)))
    }
    return
  }
  // Each tool is scored by a model that has not seen its server.
  const minScore = alarmScore(
    thirds.flatMap((left) =>
      scoresOf(
        learn(undefined, (server) => left.includes(server)),
        left,
      ),
    ),
  )
  const model = learn(undefined, () => false)
  writeFileSync(OUT, sourceOf(model, minScore))
  for (const [name, cases] of sets) report(name, model, cases, minScore)
  const tools = [...servers.values()].flat()
  const alarms = tools.filter((tool) => scoreOfTool(model, tool.map(featuresOf)) >= minScore).length
  console.log(`from ${minScore.toFixed(2)}; ${alarms} of ${tools.length} tools of published servers`)

  /** The highest score of each tool. A sentence that many tools repeat counts once: it is one false alarm to look at. */
  function scoresOf(model: Model, names: readonly string[]): number[] {
    const seen = new Set<string>()
    return names.flatMap((name) =>
      (servers.get(name) ?? []).map((sentences) => {
        const fresh = sentences.filter((sentence) => !seen.has(sentence))
        for (const sentence of fresh) seen.add(sentence)
        return scoreOfTool(model, fresh.map(featuresOf))
      }),
    )
  }
}

/** The score that the tolerated share of harmless tools exceeds. */
function alarmScore(scores: readonly number[]): number {
  return scores.toSorted((a, b) => b - a)[Math.floor(scores.length * FALSE_ALARMS)] ?? 0
}

function report(name: string, model: Model, cases: readonly CaseFeatures[], minScore: number): void {
  const found = (asked: readonly CaseFeatures[]): string => {
    const hits = asked.filter(({ sentences }) => scoreOfTool(model, sentences) >= minScore).length
    return `${hits}/${asked.length}`
  }
  const attacks = cases.filter(({ attack, category }) => attack && category !== 'encoded')
  console.log(
    `${name.padEnd(12)} attacks ${found(attacks)}, harmless ${found(cases.filter(({ attack }) => !attack))}`,
  )
}

/** Trains a linear support vector machine, then once more with the largest weights alone. */
function train(examples: readonly Example[]): Model {
  const all = new Uint8Array(BUCKETS).fill(1)
  const { weights } = separate(examples, all, 30)
  const least = Math.abs(weights.toSorted((a, b) => Math.abs(b) - Math.abs(a))[KEPT] ?? 0)
  const kept = all.map((_, bucket) => (Math.abs(weights[bucket] ?? 0) > least ? 1 : 0))
  const model = separate(examples, kept, 30)
  const rounded = model.weights.map(
    (weight) => Math.max(-127, Math.min(127, Math.round(weight * STEPS))) / STEPS,
  )
  return { weights: rounded, bias: model.bias }
}

/**
 * Finds the weights that separate attacks from the rest by a margin, with small weights: minimises the squares of the
 * weights and, times importance, of what each example lacks to the margin. Takes one example of the dual problem after the other.
 */
function separate(examples: readonly Example[], kept: Uint8Array, epochs: number): Model {
  const random = seededRandom(3)
  const weights = new Float32Array(BUCKETS)
  let bias = 0
  const problems = examples.map(({ features, isAttack, importance }) => {
    const used = Int32Array.from(features.filter((feature) => kept[feature] === 1))
    const scale = scaleOf(features)
    return {
      used,
      scale,
      side: isAttack ? 1 : -1,
      slack: 1 / (2 * COST * importance),
      norm: used.length * scale * scale + BIAS_FEATURE ** 2,
      force: 0,
    }
  })
  for (let epoch = 0; epoch < epochs; epoch++)
    for (const problem of shuffled(problems, random)) {
      const { used, scale, side, slack, norm, force } = problem
      let sum = 0
      for (const feature of used) sum += weights[feature] ?? 0
      const lack = 1 - side * (sum * scale + bias) - slack * force
      problem.force = Math.max(0, force + lack / (norm + slack))
      const change = (problem.force - force) * side
      if (change === 0) continue
      for (const feature of used) weights[feature] = (weights[feature] ?? 0) + change * scale
      bias += change * BIAS_FEATURE ** 2
    }
  return { weights, bias }
}

function scoreOfTool({ weights, bias }: Model, sentences: Features): number {
  return Math.max(-99, ...sentences.map((features) => scoreOf(features, weights, bias)))
}

/** The sentences of a definition as the scanner reads them. */
function sentencesOfTool(tool: ServerTool): string[] {
  const { texts } = toolTexts(tool)
  return [...texts.map(({ text }) => text), joinedFields(texts)].flatMap(sentencesIn)
}

function sentencesIn(text: string): string[] {
  return readableTexts(text).flatMap((reading) =>
    [...sentencesOf(reading)].map(({ sentence }) => sentence.trim()),
  )
}

function toCase({ label, category = '', says = [], tool }: Case): CaseFeatures {
  const sentences = [...new Set(sentencesOfTool(tool))]
  const said = (category === 'split' ? [says.join(' ')] : says).flatMap(sentencesIn)
  const pieces = says.flatMap(sentencesIn)
  const isSaid = (sentence: string): boolean =>
    pieces.some((piece) => sentence.includes(piece) || piece.includes(sentence))
  const attacks = category === 'split' ? said : [...said, ...sentences.filter(isSaid)]
  return {
    attack: label === 'attack',
    category,
    sentences: sentences.map(featuresOf),
    examples: [
      ...(category === 'encoded' ? [] : attacks).map(
        (sentence): Example => ({ features: featuresOf(sentence), isAttack: true, importance: 6 }),
      ),
      ...sentences.filter((sentence) => !isSaid(sentence)).map((sentence) => harmless(sentence, 3)),
    ],
  }
}

/** Earlier cases do not say which sentence is the attack: it follows a first one that describes the tool. */
function toEarlierCase({ category, tool }: EarlierCase): CaseFeatures {
  if (category === 'harmless') return toCase({ label: 'harmless', tool })
  const [first = '', ...others] = tool.description.split(/(?<=[.!?])\s+|(?<=[。！？])/)
  const says = others.length > 0 ? [others.join(' ')] : [first]
  return toCase({ label: 'attack', category, says, tool })
}

/** How many tools have each sentence: a false alarm about a common one would be a hundred. */
function frequencies(tools: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const sentences of tools)
    for (const sentence of new Set(sentences)) counts.set(sentence, (counts.get(sentence) ?? 0) + 1)
  return counts
}

function harmless(sentence: string, importance: number): Example {
  return { features: featuresOf(sentence), isAttack: false, importance }
}

function readServers(): Map<string, string[][]> {
  const folder = join(DATA, 'mcp-dumps')
  const files = readdirSync(folder).filter((file) => file.endsWith('.json') && !file.startsWith('_'))
  return new Map(
    files.map((file) => {
      const { tools }: { tools: ServerTool[] } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      return [file, tools.map(sentencesOfTool)]
    }),
  )
}

function readLines<Line>(path: string): Line[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function sourceOf({ weights, bias }: Model, minScore: number): string {
  const bytes: number[] = []
  let before = -1
  for (const [bucket, weight] of weights.entries()) {
    const value = Math.round(weight * STEPS)
    if (value === 0) continue
    let distance = bucket - before - 1
    for (; distance >= 255; distance -= 255) bytes.push(255)
    bytes.push(distance, value + 128)
    before = bucket
  }
  return [
    '// Written by `npm run train -- scanner`; instruction-model.ts describes it.',
    `export const BIAS = ${bias.toFixed(4)}`,
    `export const MIN_SCORE = ${minScore.toFixed(3)}`,
    'export const WEIGHTS =',
    `  '${Buffer.from(bytes).toString('base64')}'`,
    '',
  ].join('\n')
}
