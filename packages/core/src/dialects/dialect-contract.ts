import type { Surface } from '../session/surface.ts'
import type { CallResult, ToolDefinition } from '../tool.ts'
import type { Dialect } from './dialect.ts'

/** A rule that every dialect must satisfy; `run` throws if it is violated. */
export interface DialectCheck {
  readonly name: string
  run(): void
}

/** The model's output in one turn, independent of the provider. */
export interface SpokenTurn {
  readonly text?: string
  readonly thinking?: string
  readonly calls?: readonly SpokenCall[]
  readonly stop?: 'refused' | 'length'
}

/** One call of such a turn. */
export interface SpokenCall {
  readonly id?: string
  /** The wire name. */
  readonly name: string
  /** The arguments as the model wrote them, valid JSON or not. */
  readonly args: string
}

/** Simulates the provider: how it responds, and how it reads what a dialect sends. */
export interface ProviderVoice<Message, Request, Response, StreamEvent> {
  respond(turn: SpokenTurn): Response
  stream(turn: SpokenTurn): readonly StreamEvent[]
  /** The tool names in a request, in order. */
  toolNames(request: Request): readonly string[]
  /** The ids of the calls in the messages, and the ids of the results. */
  callIds(messages: readonly Message[]): {
    readonly calls: readonly string[]
    readonly answers: readonly string[]
  }
  /** False if the provider parses arguments itself, so that they are never malformed. */
  readonly canBeMalformed: boolean
  /** True if images are sent as bytes instead of base64. */
  readonly takesBytes?: boolean
}

/**
 * The contract of every dialect, for any test runner:
 * `for (const { name, run } of dialectContract(makeDialect, voice)) it(name, run)`.
 */
export function dialectContract<Message, Request, Response, StreamEvent>(
  makeDialect: () => Dialect<Message, Request, Response, StreamEvent>,
  voice: ProviderVoice<Message, Request, Response, StreamEvent>,
): DialectCheck[] {
  const dialect = makeDialect()
  const request = (surface: Surface, messages: readonly Message[] = [dialect.userMessage('hello')]) =>
    dialect.toRequest({ surface, messages, system: 'Be brief.', note: 'There is more.' })
  const wireName = (name: string) => {
    const place = SURFACE.tools.findIndex((tool) => tool.name === name)
    return voice.toolNames(request(SURFACE))[place] ?? ''
  }
  const check = (name: string, run: () => void): DialectCheck => ({ name, run })

  return [
    check('shows every tool once, in order, under a valid name', () => {
      const names = voice.toolNames(request(SURFACE))
      expect([names.length, new Set(names).size], [SURFACE.tools.length, SURFACE.tools.length])
      expect(
        names.filter((name) => !/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)),
        [],
      )
      expect(names[0], 'plain')
    }),
    check('gives the same bytes for the same turn, from any instance', () => {
      const again = makeDialect().toRequest({
        surface: structuredClone(SURFACE),
        messages: [dialect.userMessage('hello')],
        system: 'Be brief.',
        note: 'There is more.',
      })
      expect(again, request(SURFACE))
    }),
    check('shows the note after the system prompt', () => {
      const bytes = JSON.stringify(request(SURFACE))
      expect(bytes.includes('Be brief.\\n\\nThere is more.'), true)
    }),
    check('omits tools when there are none', () => {
      expect(voice.toolNames(request({ ...SURFACE, tools: [] })), [])
    }),
    check('maps every name back', () => {
      for (const { name } of SURFACE.tools) {
        const response = voice.respond({ calls: [{ id: 'one', name: wireName(name), args: '{}' }] })
        expect(dialect.toCalls(response, SURFACE), [{ toolCallId: 'one', name, args: {} }])
      }
    }),
    check('passes on the name of an unknown tool', () => {
      const response = voice.respond({ calls: [{ id: 'one', name: 'unheard_of', args: '{"a":1}' }] })
      expect(dialect.toCalls(response, SURFACE), [{ toolCallId: 'one', name: 'unheard_of', args: { a: 1 } }])
    }),
    check('keeps parallel calls in order, and returns a result for each', () => {
      const response = voice.respond({ text: 'both', calls: TWO_CALLS })
      const calls = dialect.toCalls(response, SURFACE)
      expect(
        calls.map(({ toolCallId, args }) => [toolCallId, args]),
        [
          ['one', { n: 1 }],
          ['two', { n: 2 }],
        ],
      )
      // Results in a different order from the calls.
      const messages = dialect.toMessages(response, [ok('two'), ok('one')], SURFACE)
      expect(voice.callIds(messages), { calls: ['one', 'two'], answers: ['one', 'two'] })
    }),
    check('returns a result for calls that were never run', () => {
      const messages = dialect.toMessages(voice.respond({ calls: TWO_CALLS }), [ok('two')], SURFACE)
      expect(voice.callIds(messages).answers, ['one', 'two'])
      expect(JSON.stringify(messages).includes('not run'), true)
    }),
    check('never runs a call with unreadable arguments, and says why', () => {
      if (!voice.canBeMalformed) return
      for (const args of ['{"n": 1', 'n=1', '[1]', '"text"']) {
        const response = voice.respond({ calls: [{ id: 'one', name: 'plain', args }] })
        const { calls, unrunnable, stop } = dialect.toReply(response, SURFACE)
        expect([calls.length, unrunnable.map(({ toolCallId }) => toolCallId), stop], [0, ['one'], 'calls'])
        const messages = dialect.toMessages(response, [], SURFACE)
        expect(voice.callIds(messages), { calls: ['one'], answers: ['one'] })
        expect(JSON.stringify(messages).includes('expected a JSON object'), true)
      }
    }),
    check('treats missing arguments as an empty object', () => {
      const response = voice.respond({ calls: [{ id: 'one', name: 'plain', args: '' }] })
      expect(
        dialect.toCalls(response, SURFACE).map(({ args }) => args),
        [{}],
      )
    }),
    check('distinguishes calls that share an id', () => {
      const [first, second] = TWO_CALLS
      const response = voice.respond({ calls: [first, { ...second, id: 'one' }] })
      const ids = dialect.toCalls(response, SURFACE).map(({ toolCallId }) => toolCallId)
      expect(new Set(ids).size, 2)
      const messages = dialect.toMessages(response, ids.map(ok), SURFACE)
      expect(voice.callIds(messages).answers.length, 2)
      expect(voice.callIds(messages).answers, voice.callIds(messages).calls)
    }),
    check('does not run the call that a token limit cut off', () => {
      const response = voice.respond({ calls: TWO_CALLS, stop: 'length' })
      const { stop, calls } = dialect.toReply(response, SURFACE)
      expect(stop, 'length')
      // A provider that parses arguments itself returns only complete calls.
      expect(
        calls.map(({ toolCallId }) => toolCallId),
        voice.canBeMalformed ? ['one'] : ['one', 'two'],
      )
      const { calls: asked, answers } = voice.callIds(dialect.toMessages(response, [ok('one')], SURFACE))
      expect(answers, asked)
    }),
    check('reports a refusal, and continues', () => {
      const response = voice.respond({ text: 'I will not.', stop: 'refused' })
      const { stop, calls } = dialect.toReply(response, SURFACE)
      expect([stop, calls], ['refused', []])
      // A model that sees its own refusal would refuse again.
      expect(dialect.toMessages(response, [], SURFACE), [])
    }),
    check('returns plain text, and that the model is done', () => {
      const { text, stop, calls } = dialect.toReply(voice.respond({ text: 'Hello.' }), SURFACE)
      expect([text, stop, calls], ['Hello.', 'done', []])
    }),
    check('counts every kind of input once', () => {
      const { usage } = dialect.toReply(voice.respond({ text: 'Hello.' }), SURFACE)
      expect(usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens, 100)
      expect([usage.cachedInputTokens, usage.outputTokens], [60, 20])
    }),
    check('leaves earlier messages unchanged as the history grows', () => {
      const before = [dialect.userMessage('hello')]
      const response = voice.respond({ thinking: 'Hm.', text: 'both', calls: TWO_CALLS })
      const after = [...before, ...dialect.toMessages(response, [ok('one'), ok('two')], SURFACE)]
      const first = JSON.stringify(before).slice(0, -1)
      expect(JSON.stringify(after).startsWith(first), true)
      expect(voice.toolNames(request(SURFACE, after)), voice.toolNames(request(SURFACE, before)))
    }),
    check('reads a stream like the whole response', () => {
      const turn: SpokenTurn = { thinking: 'Hm.', text: 'Hello, both.', calls: TWO_CALLS }
      const reader = dialect.openStream()
      const text = voice
        .stream(turn)
        .map((event) => reader.add(event))
        .join('')
      const { usage: _, ...reply } = dialect.toReply(reader.response(), SURFACE)
      const { usage: __, ...whole } = dialect.toReply(voice.respond(turn), SURFACE)
      expect([text, reply], ['Hello, both.', whole])
      expect(voice.callIds(dialect.toMessages(reader.response(), [ok('one'), ok('two')], SURFACE)), {
        calls: ['one', 'two'],
        answers: ['one', 'two'],
      })
    }),
    check('survives a stream cut anywhere, and runs no partial call', () => {
      const events = voice.stream({ thinking: 'Hm.', text: 'Hello, both.', calls: TWO_CALLS })
      for (let length = 0; length < events.length; length++) {
        const reader = dialect.openStream()
        for (const event of events.slice(0, length)) reader.add(event)
        const { calls, unrunnable, stop } = dialect.toReply(reader.response(), SURFACE)
        for (const { args } of calls) expect(['{"n":1}', '{"n":2}'].includes(JSON.stringify(args)), true)
        expect(unrunnable, [])
        if (length < events.length / 2) expect(stop, 'cut')
        const { calls: asked, answers } = voice.callIds(dialect.toMessages(reader.response(), [], SURFACE))
        expect(answers, asked)
      }
    }),
    check('shows results with pictures, errors and broken text', () => {
      const response = voice.respond({ calls: [...TWO_CALLS, { id: 'three', name: 'plain', args: '{}' }] })
      const messages = dialect.toMessages(
        response,
        [
          {
            ...ok('one'),
            result: {
              ok: true,
              value: 'a chart',
              content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
            },
          },
          { ...ok('two'), result: { ok: false, code: 'timeout', error: 'took too long' } },
          { ...ok('three'), result: { ok: true, value: 'half a pair: \uD83D' } },
        ],
        SURFACE,
      )
      const bytes = JSON.stringify(messages)
      expect(
        [voice.takesBytes ? JSON.stringify(new Uint8Array(3)) : 'AAAA', 'a chart', 'took too long'].map(
          (text) => bytes.includes(text),
        ),
        [true, true, true],
      )
      expect(bytes.includes('\\ud83d'), false)
    }),
    check('reports which parts of a schema it cannot express', () => {
      const losses = dialect.lossesOf(SURFACE)
      // No provider accepts a union at the root.
      expect(
        losses.some(({ tool, keyword }) => tool === UNION && keyword === 'anyOf'),
        true,
      )
      for (const { tool, path, keyword, reason } of losses)
        expect(
          [tool, path, keyword, reason].every((text) => typeof text === 'string'),
          true,
        )
    }),
  ]
}

const TWO_CALLS = [
  { id: 'one', name: 'plain', args: '{"n":1}' },
  { id: 'two', name: 'plain', args: '{"n":2}' },
] as const

function ok(toolCallId: string): CallResult {
  return { toolCallId, name: 'plain', result: { ok: true, value: `result of ${toolCallId}` }, durationMs: 1 }
}

const UNION = `long_${'x'.repeat(200)}`

const SURFACE: Surface = {
  tools: [
    define('plain', { type: 'object', properties: { n: { type: 'integer' } } }),
    define('mcp__disk__read file.v2', {
      type: ['object', 'null'],
      properties: { path: { type: ['string', 'null'] } },
    }),
    define('Größe', true),
    define(UNION, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
    define('__proto__', { type: 'object', properties: { 'a<': { const: 1 } } }),
    define('constructor', {}),
  ],
  deferredCount: 0,
  strategy: 'append',
  fingerprint: 'contract',
}

function define(name: string, parameters: ToolDefinition['parameters']): ToolDefinition {
  return { name, description: `The tool ${name}.`, parameters }
}

function expect(actual: unknown, expected: unknown): void {
  const [given, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (given !== wanted) throw new Error(`expected ${wanted}, got ${given}`)
}
