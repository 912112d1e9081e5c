/**
 * How much does the registry add to a call? A thousand calls of a no-op tool through `executeParallel`, against the
 * minimum that one could write by hand: validate with the same validator, execute, `Promise.allSettled`.
 */
import { pathToFileURL } from 'node:url'
import { Validator } from '@cfworker/json-schema'
import { type JsonSchema, type Tool, type ToolCall, ToolRegistry } from '../packages/core/src/index.ts'

const CALLS = 1_000
const GOAL = 3

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const rounds = smoke ? 3 : 60
  console.log(`calls: ${CALLS} calls of a no-op tool, median of ${rounds} rounds`)
  for (const subject of SUBJECTS) await compare(subject, rounds)
}

interface Subject {
  readonly what: string
  readonly schema: JsonSchema
  args(index: number): unknown
}

const SUBJECTS: readonly Subject[] = [
  {
    what: 'five properties, one of them nested',
    schema: {
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 1 },
        days: { type: 'integer', minimum: 1, maximum: 14 },
        units: { enum: ['metric', 'imperial'] },
        include: { type: 'array', items: { type: 'string' } },
        at: { type: 'object', properties: { lat: { type: 'number' }, lon: { type: 'number' } } },
      },
      required: ['city'],
      additionalProperties: false,
    },
    args: (index) => ({
      city: `city ${index}`,
      days: 1 + (index % 14),
      units: index % 2 ? 'metric' : 'imperial',
      include: ['wind', 'rain'],
      at: { lat: index / 20, lon: 3.5 },
    }),
  },
  {
    what: 'two properties',
    schema: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: { type: 'integer' } },
      required: ['query'],
    },
    args: (index) => ({ query: `words ${index}`, limit: 5 }),
  },
  {
    what: 'one number',
    schema: { type: 'object', properties: { n: { type: 'integer' } } },
    args: (index) => ({ n: index }),
  },
]

async function compare({ what, schema, args }: Subject, rounds: number): Promise<void> {
  const tool: Tool = {
    name: 'get_weather',
    description: 'The weather at a place.',
    inputSchema: schema,
    execute: () => ({ ok: true, value: 'sunny' }),
  }
  const registry = new ToolRegistry()
  registry.register(tool)
  const calls: ToolCall[] = Array.from({ length: CALLS }, (_, index) => ({
    toolCallId: `call-${index}`,
    name: tool.name,
    args: args(index),
  }))
  // Short-circuiting is the validator's default, so a hand-written version would use it.
  const validator = new Validator(structuredClone(schema) as object, '2020-12')
  const [bare, piped] = await measure(rounds, [
    () => runBare(calls, tool, validator),
    async () => {
      const results = await registry.executeParallel(calls, { sessionId: 'bench' })
      if (results.some(({ result }) => !result.ok)) throw new Error('a call failed')
    },
  ])
  const perCall = (ms: number) => `${((ms / CALLS) * 1_000).toFixed(2)} µs per call`
  const ratio = piped / bare
  console.log(`  ${what}`)
  console.log(`    validate + execute + allSettled  ${perCall(bare)}`)
  console.log(`    registry.executeParallel         ${perCall(piped)}`)
  console.log(`    ratio ${ratio.toFixed(2)} (goal: under ${GOAL})${ratio < GOAL ? '' : '  MISSED'}`)
}

const context = {
  sessionId: 'bench',
  toolCallId: '',
  turnCount: 0,
  signal: new AbortController().signal,
  resultLimitChars: 80,
  context: undefined,
}

function runBare(calls: readonly ToolCall[], tool: Tool, validator: Validator): Promise<unknown> {
  return Promise.allSettled(
    calls.map(async ({ args }) => {
      const { valid } = validator.validate(args)
      if (!valid) throw new Error('invalid')
      return tool.execute(args, context)
    }),
  )
}

/**
 * The median time of each. They alternate, so that a busy machine slows both equally. The first half of the rounds is
 * warm-up.
 */
async function measure(rounds: number, [first, second]: [Work, Work]): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < 2 * rounds; round++) {
    const elapsed = [await timed(first), await timed(second)] as const
    if (round < rounds) continue
    times[0].push(elapsed[0])
    times[1].push(elapsed[1])
  }
  return [median(times[0]), median(times[1])]
}

type Work = () => Promise<unknown>

async function timed(work: Work): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await run({ smoke: false })
