import { EventEmitter } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { writeLockfile } from '../../packages/mcp/src/index.ts'
import { chatCommand } from '../../packages/toolcrib/src/chat/command.ts'
import { type ChatOptions, runChat } from '../../packages/toolcrib/src/chat/run-chat.ts'
import { fakeTerminal } from '../../packages/toolcrib/src/terminal/fake-terminal.fixture.ts'
import { type ScriptedTurn, startWireServer, type WireServer } from '../dialects/wire-server/wire-server.ts'

let server: WireServer
let folder: string

beforeEach(async () => {
  server = await startWireServer()
  folder = await mkdtemp(join(tmpdir(), 'toolcrib-chat-'))
})
afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

interface Talk {
  readonly options?: ChatOptions
  readonly env?: Record<string, string>
  /** Called with what has been printed so far, each time more is. */
  onOutput?(printed: string, interrupt: () => void, type: (line: string) => void): void
  /** True: `lines` are all there is. False: the input stays open. */
  readonly ends?: boolean
}

/** Types lines into a chat and gives what it printed. */
async function chat(lines: readonly string[], turns: readonly ScriptedTurn[], talk: Talk = {}) {
  server.play(...turns)
  const input = new PassThrough()
  const output = new PassThrough()
  let printed = ''
  const signals = new EventEmitter()
  const interrupt = () => void signals.emit('SIGINT')
  output.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
    talk.onOutput?.(printed, interrupt, (line) => input.write(`${line}\n`))
  })
  for (const line of lines) input.write(`${line}\n`)
  if (talk.ends !== false) input.end()
  const env = { ANTHROPIC_API_KEY: 'key', HOME: folder, ...talk.env }
  const { terminal } = fakeTerminal({ input, output, env, cwd: folder, signals })
  const options = { provider: 'anthropic', model: 'm', baseUrl: server.url, ...talk.options }
  const exitCode = await runChat(terminal, options)
  return { exitCode, printed: stripVTControlCharacters(printed), raw: printed }
}

describe('toolcrib chat', () => {
  it('answers, keeps the conversation, and exits at the end of its input', async () => {
    const { exitCode, printed } = await chat(
      ['Hello', 'And now?'],
      [{ text: 'Good day.' }, { text: 'Still here.' }],
    )
    expect(exitCode).toBe(0)
    expect(printed).toContain('Good day.\n')
    expect(printed).toContain('Still here.\n')
    expect(server.requests[1]?.messages).toHaveLength(3)
    expect(server.refusals).toEqual([])
  })

  it('runs read-only tools without asking, and shows them', async () => {
    await writeFile(join(folder, 'note.txt'), 'buy milk')
    const { printed } = await chat(
      ['What is in my note?'],
      [{ calls: [{ id: 'c1', name: 'read_file', args: '{"path":"note.txt"}' }] }, { text: 'Milk.' }],
      { options: { builtin: true } },
    )
    expect(printed).toContain('→ read_file {"path":"note.txt"}')
    expect(printed).toMatch(/✓ read_file buy milk \d+ ms/)
    expect(printed).not.toContain('Run read_file?')
    expect(printed).toContain('Milk.')
  })

  it('asks before what the config names, and keeps what is always allowed in the own config', async () => {
    await writeFile(join(folder, 'note.txt'), 'buy milk')
    await writeFile(join(folder, 'toolcrib.toml'), '[tools]\nask = ["read_file"]\n')
    const turns = [
      { calls: [{ id: 'c1', name: 'read_file', args: '{"path":"note.txt"}' }] },
      { text: 'Milk.' },
    ]
    const options = { builtin: true }
    const no = await chat(['What?', 'n'], turns, { options })
    expect(no.printed).toContain('The user refused "read_file"')
    const always = await chat(['What?', 'a'], turns, { options })
    expect(always.printed).toContain('✓ read_file buy milk')
    const own = await readFile(join(folder, '.config', 'toolcrib', 'toolcrib.toml'), 'utf8')
    expect(own).toMatch(/read_file = "[0-9a-f]{64}"/)
    const again = await chat(['What?'], turns, { options })
    expect(again.printed).toContain('✓ read_file buy milk')
    expect(again.printed).not.toContain('Run read_file?')
  })

  it('asks before other tools, and follows the answer', async () => {
    const write = (id: string, path: string) => ({
      calls: [{ id, name: 'write_file', args: JSON.stringify({ path, content: 'x' }) }],
    })
    const { printed } = await chat(
      ['Write a', 'y', 'Write b', 'n', 'Write c', 'always', 'Write d'],
      [
        write('c1', 'a.txt'),
        { text: 'a done' },
        write('c2', 'b.txt'),
        { text: 'b done' },
        write('c3', 'c.txt'),
        { text: 'c done' },
        write('c4', 'd.txt'),
        { text: 'd done' },
      ],
      { options: { builtin: true } },
    )
    expect(printed.match(/Run write_file\?/g)).toHaveLength(3)
    expect(printed).toContain('The user refused "write_file"')
    for (const name of ['a', 'c', 'd']) expect(await readFile(join(folder, `${name}.txt`), 'utf8')).toBe('x')
    await expect(readFile(join(folder, 'b.txt'))).rejects.toThrow('ENOENT')
  })

  it('asks one question at a time, and treats no answer as no', async () => {
    const call = (id: string, path: string) => ({
      id,
      name: 'write_file',
      args: JSON.stringify({ path, content: 'x' }),
    })
    const { printed } = await chat(
      ['Write both', 'y'],
      [{ calls: [call('c1', 'a.txt'), call('c2', 'b.txt')] }, { text: 'done' }],
      { options: { builtin: true } },
    )
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('x')
    await expect(readFile(join(folder, 'b.txt'))).rejects.toThrow('ENOENT')
    expect(printed).toContain('done')
  })

  it('shows context, tools, search, usage and help', async () => {
    const { printed } = await chat(
      [
        'Hi',
        '/context',
        '/tools',
        '/search read a file',
        '/search zebra',
        '/usage',
        '/help',
        '/nonsense',
        '/exit',
        'never said',
      ],
      [{ text: 'Hi.' }],
      { options: { builtin: true } },
    )
    expect(printed).toContain('MCP active: 0/24')
    expect(printed).toContain('search_files')
    expect(printed).toMatch(/read_file {2}Reads|read_file/)
    expect(printed).toContain('No tool mentions: zebra')
    expect(printed).toContain('Requests: 1')
    expect(printed).toContain('Input: 100 tokens (30 fresh, 60 cached, 10 written to the cache)')
    expect(printed).toContain('/search <words>')
    expect(printed).toContain('Unknown command /nonsense; see /help')
    expect(server.requests).toHaveLength(1)
  })

  it('finds tools of MCP servers, keeps them after /clear, and names them to the model once', async () => {
    const memory = join(process.cwd(), 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')
    const config = { mcpServers: { memory: { command: process.execPath, args: [memory] } } }
    await writeFile(join(folder, '.mcp.json'), JSON.stringify(config))
    const { printed } = await chat(
      ['What do I know?', '/context', '/clear', 'Again', 'And again'],
      [
        { calls: [{ id: 'c1', name: 'tool_search', args: '{"name":"mcp__memory__read_graph"}' }] },
        { calls: [{ id: 'c2', name: 'mcp__memory__read_graph', args: '{}' }] },
        { text: 'Nothing yet.' },
        { text: 'One.' },
        { text: 'Two.' },
      ],
      { options: { yes: true }, env: { TOOLCRIB_REGISTRY_MODE: 'lazy' } },
    )
    expect(server.refusals).toEqual([])
    expect(printed).toContain('Connecting to 1 server…')
    expect(printed).toContain('MCP active: 1/24 (mcp__memory__read_graph)')
    const told = server.requests.map(
      ({ messages }) => JSON.stringify(messages).split('still active').length - 1,
    )
    expect(told).toEqual([0, 0, 0, 1, 1])
    expect(JSON.stringify(server.requests[3])).not.toContain('What do I know?')
  })

  it('hides tools that a lockfile does not approve', async () => {
    const memory = join(process.cwd(), 'node_modules/@modelcontextprotocol/server-memory/dist/index.js')
    const config = { mcpServers: { memory: { command: process.execPath, args: [memory] } } }
    await writeFile(join(folder, '.mcp.json'), JSON.stringify(config))
    const open = await chat(['/search read_graph'], [])
    expect(open.printed).toContain('mcp__memory__read_graph')
    await writeLockfile(join(folder, 'toolcrib.lock'), { servers: new Map() })
    const held = await chat(['/search read_graph'], [])
    expect(held.printed).toContain('Nothing matches.')
    expect(held.printed).not.toContain('mcp__memory__read_graph')
  })

  it('stops a turn on the first interrupt and continues', async () => {
    let isInterrupted = false
    const { printed, exitCode } = await chat(
      ['Tell me a story'],
      [{ text: 'Once upon a time there was a tool that nobody could find' }, { text: 'Fine.' }],
      {
        ends: false,
        onOutput(output, interrupt, type) {
          if (!isInterrupted && output.includes('Once')) {
            isInterrupted = true
            interrupt()
            type('Enough')
          }
          if (output.includes('Fine.\n')) type('/exit')
        },
      },
    )
    expect(exitCode).toBe(0)
    expect(printed).toContain('(stopped)')
    expect(printed).not.toContain('nobody could find')
    expect(printed).toContain('Fine.')
  })

  it('exits on the second interrupt', async () => {
    let count = 0
    const { exitCode, printed } = await chat([], [], {
      ends: false,
      onOutput(_output, interrupt) {
        if (count++ < 2) queueMicrotask(interrupt)
      },
    })
    expect(exitCode).toBe(0)
    expect(printed).toContain('(press Ctrl-C again to leave)')
  })

  it('reports a failed request, and continues', async () => {
    const { printed, exitCode } = await chat(['Hi', 'Hi again'], [])
    expect(printed.match(/The request to the model failed: .*the script is at its end/g)).toHaveLength(2)
    expect(exitCode).toBe(0)
  })

  it('does not let text of a model or a tool control the terminal', async () => {
    await writeFile(join(folder, 'evil.txt'), '\u001b]0;title\u0007\u001b[2Jgone')
    const { raw } = await chat(
      ['Hi'],
      [
        { calls: [{ id: 'c1', name: 'read_file', args: '{"path":"evil.txt"}' }] },
        { text: 'A \u001b[31mred\u001b[0m \u202eword' },
      ],
      { options: { builtin: true } },
    )
    for (const harm of ['\u001b]0;', '\u001b[2J', '\u001b[31mred', '\u0007', '\u202e'])
      expect(raw).not.toContain(harm)
    expect(raw).toContain('gone')
    expect(raw).toContain('word')
  })

  it('answers one prompt and exits, also as JSON', async () => {
    const once = await chat([], [{ text: 'Forty-two.' }], { options: { prompt: 'The answer?' } })
    expect(once).toMatchObject({ exitCode: 0, printed: 'Forty-two.\n' })
    const json = await chat([], [{ text: 'Forty-two.' }], { options: { prompt: 'The answer?', json: true } })
    expect(JSON.parse(json.printed)).toMatchObject({
      text: 'Forty-two.',
      stop: 'done',
      iterations: 1,
      ledger: { requests: 1 },
    })
    const failed = await chat([], [], { options: { prompt: 'The answer?', json: true } })
    expect(failed.exitCode).toBe(1)
    expect(JSON.parse(failed.printed)).toMatchObject({
      stop: 'failed',
      error: expect.stringContaining('script'),
    })
  })

  it.each([
    ['maxTokens', { maxTokens: 100 }, '--max-tokens'],
    [
      'maxCostUsd',
      { maxCost: 0.0001, price: { input: 4, cachedInput: 0.2, cacheWrite: 5, output: 20 } },
      '--max-cost',
    ],
  ])('ends the chat at %s', async (limit, options, flag) => {
    const call = { calls: [{ id: 'c1', name: 'list_directory', args: '{}' }] }
    const talk = await chat(['Go', 'Go on'], [call], { options: { ...options, builtin: true } })
    expect(talk.printed.split(`Stopped: the limit of ${flag} is used up.`)).toHaveLength(3)
    expect(server.requests).toHaveLength(1)
    const json = await chat([], [call], { options: { ...options, builtin: true, prompt: 'Go', json: true } })
    expect(json.exitCode).toBe(1)
    expect(JSON.parse(json.printed)).toMatchObject({ stop: 'limit', limit })
  })

  it.each([
    [['--max-cost', '1'], '--max-cost needs --price'],
    [['--max-cost', 'much'], 'It must be a number, 0 or more.'],
    [['--max-tokens', '0'], 'It must be a whole number, 1 or more.'],
    [['--price', '4,0.2,5'], 'It must be four numbers: input, cached input, cache writes, output.'],
    [['--price', '4,0.2,5,20,1'], 'It must be four numbers, not more.'],
  ])('refuses %j', async (flags, reason) => {
    const { terminal } = fakeTerminal({})
    let said = ''
    const command = chatCommand(terminal)
      .exitOverride()
      .configureOutput({ writeErr: (text) => (said += text) })
    await expect(command.parseAsync(flags, { from: 'user' })).rejects.toThrow()
    expect(said).toContain(reason)
  })

  it('denies calls that no one can approve', async () => {
    const call = { calls: [{ id: 'c1', name: 'write_file', args: '{"path":"a.txt","content":"x"}' }] }
    await chat(['y'], [call, { text: 'then not' }], { options: { prompt: 'Write', builtin: true } })
    await expect(readFile(join(folder, 'a.txt'))).rejects.toThrow('ENOENT')
    await chat([], [call, { text: 'written' }], { options: { prompt: 'Write', builtin: true, yes: true } })
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('x')
    const json = await chat([], [call, { text: 'No.' }], {
      options: { builtin: true, prompt: 'Write', json: true },
    })
    expect(JSON.parse(json.printed).refusedCalls).toEqual([
      { name: 'write_file', error: expect.stringContaining('The user refused') },
    ])
  })

  it('works with agents written in Markdown', async () => {
    await writeFile(
      join(folder, 'scout.md'),
      '---\nname: scout\ndescription: Looks around.\n---\nLook around.\n',
    )
    const { printed } = await chat(
      ['Look around'],
      [
        { calls: [{ id: 'c1', name: 'agent', args: '{"agent":"scout","task":"look"}' }] },
        { calls: [{ id: 'c2', name: 'list_directory', args: '{}' }] },
        { text: 'I saw a file.' },
        { text: 'The scout saw a file.' },
      ],
      { options: { builtin: true, agents: '.' } },
    )
    expect(printed).toContain('  → list_directory')
    expect(printed).toContain('✓ agent I saw a file.')
    expect(printed).toContain('The scout saw a file.')
    expect(printed).not.toContain('Run agent?')
    expect(server.refusals).toEqual([])
  })

  it('uses any Chat Completions server, without a key', async () => {
    const options = { provider: undefined, baseUrl: `${server.url}/v1` } as unknown as ChatOptions
    const { printed } = await chat(['Hi'], [{ text: 'Local.' }], {
      options,
      env: { OPENAI_API_KEY: 'secret' },
    })
    expect(printed).toContain('Local.')
  })

  it.each([
    [{}, {}, /no provider's key is set; set one of ANTHROPIC_API_KEY, OPENAI_API_KEY/],
    [{ provider: 'gemini', model: 'm' }, {}, /GEMINI_API_KEY or GOOGLE_API_KEY is not set/],
    [{ provider: 'anthropic' }, { ANTHROPIC_API_KEY: 'k' }, /--model <id>/],
    [{ provider: 'acme', model: 'm' }, {}, /use one of anthropic, openai/],
    [
      { provider: 'openai-chat', model: 'm', apiKeyEnv: 'MY_KEY', baseUrl: 'http://x/v1' },
      {},
      /MY_KEY is not set/,
    ],
  ])('names what is missing: %j', async (options, env, message) => {
    const { terminal } = fakeTerminal({ env, cwd: folder })
    await expect(runChat(terminal, options)).rejects.toThrow(message)
  })
})
