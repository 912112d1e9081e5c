import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CapabilityBackends, Tool, ToolResult } from '@toolcrib/core'
import { ToolRegistry } from '@toolcrib/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fsReachBackend, networkBackend, processBackend, storageBackend } from '../capabilities/index.ts'
import { builtinTools } from './builtin-tools.ts'

let home: string
let server: Server
let site: string
let run: (name: string, args?: unknown, signal?: AbortSignal) => Promise<ToolResult>

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'toolcrib-tools-')))
  server = createServer((request, response) => {
    const [status, type, body] = PAGES[request.url ?? ''] ?? [404, 'text/html', '<h1>Gone</h1>']
    response.writeHead(status, type.startsWith('/') ? { location: type } : { 'content-type': type }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = `127.0.0.1:${(server.address() as AddressInfo).port}`
  site = `http://${at}`
  run = runner({
    fs_reach: fsReachBackend({ read: [home], write: [home] }),
    process: processBackend({ commands: ['node', 'echo'], directories: [home] }),
    network: networkBackend({ hosts: ['127.0.0.1'], allowPrivate: [at] }),
    storage: storageBackend(),
  })
})

afterEach(async () => {
  server.close()
  await rm(home, { recursive: true, force: true })
})

function runner(capabilities: CapabilityBackends) {
  const registry = new ToolRegistry({ mode: 'full', capabilities })
  registry.registerAll(builtinTools({ clock: () => Date.UTC(2026, 0, 2) }))
  return async (name: string, args: unknown = {}, signal?: AbortSignal): Promise<ToolResult> => {
    const context = { sessionId: 'session-1', ...(signal === undefined ? {} : { signal }) }
    const [answer] = await registry.executeParallel([{ toolCallId: 'call-1', name, args }], context)
    if (answer === undefined) throw new Error('no answer')
    return answer.result
  }
}

const PAGES: { readonly [path: string]: [status: number, type: string, body: string | Buffer] } = {
  '/page': [
    200,
    'text/html; charset=utf-8',
    '<title>Home</title><h1>Hello</h1><p>See <a href="/x">x</a></p>',
  ],
  '/json': [200, 'application/json', '{"a": [1, 2]}'],
  '/text': [200, 'text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1')],
  '/meta': [200, 'text/html', Buffer.from('<meta charset="windows-1252"><p>\x80 5', 'latin1')],
  '/pdf': [200, 'application/pdf', '%PDF'],
  '/old': [301, '/page', ''],
  '/empty': [200, 'text/plain', ''],
}

const value = (result: ToolResult) => (result.ok ? result.value : `failed: ${result.error}`)

describe('builtinTools', () => {
  const tools = builtinTools()

  it('describes every tool so that it can be found, shown and trusted', () => {
    expect(tools).toHaveLength(13)
    for (const tool of tools) {
      expect(tool.description.length, tool.name).toBeGreaterThan(40)
      expect(tool.searchHint, tool.name).toBeTruthy()
      expect(tool.annotations?.readOnlyHint, tool.name).toBeTypeOf('boolean')
      expect(tool.inputSchema, tool.name).toMatchObject({ type: 'object', additionalProperties: false })
      expect(Object.keys(tool.capabilities ?? {}), tool.name).toHaveLength(1)
    }
  })

  it('can be chosen by name', () => {
    expect(builtinTools({ only: ['read_file', 'exec'] }).map((tool: Tool) => tool.name)).toEqual([
      'read_file',
      'exec',
    ])
    expect(() => builtinTools({ only: ['web_search'] })).toThrow('choose from exec, read_file')
  })

  it('do nothing without a backend', async () => {
    const bare = runner({})
    for (const { name } of tools) {
      const result = await bare(name, {
        path: 'a',
        content: '',
        oldText: 'a',
        newText: 'b',
        pattern: 'a',
        url: 'a',
      })
      expect(result, name).toMatchObject({ ok: false, code: 'not_available' })
    }
  })
})

describe('exec', () => {
  it('returns stdout, then stderr, then an exit code that is not 0', async () => {
    expect(await run('exec', { command: 'echo', args: ['a', '$HOME'] })).toMatchObject({
      ok: true,
      value: 'a $HOME\n',
    })
    const script = 'console.error("err"); process.stdout.write("out"); process.exitCode = 3'
    expect(value(await run('exec', { command: 'node', args: ['-e', script] }))).toBe(
      'out\nerr\n[exit code 3]',
    )
    const killed = ['-e', 'process.kill(process.pid, "SIGKILL")']
    expect(value(await run('exec', { command: 'node', args: killed }))).toBe('[ended by SIGKILL]')
  })

  it('names the next step when it denies a command', async () => {
    expect(await run('exec', { command: 'rm' })).toMatchObject({
      code: 'denied',
      error: expect.stringContaining('echo'),
    })
    expect(value(await run('exec', { command: 'echo hi' }))).toContain('arguments as a list')
    expect(await run('exec', { command: 'echo', cwd: '/' })).toMatchObject({ code: 'denied' })
  })

  it('stops on a timeout or when the call is cancelled', async () => {
    const forever = { command: 'node', args: ['-e', 'setInterval(() => {}, 1000)'] }
    expect(await run('exec', { ...forever, timeoutMs: 300 })).toMatchObject({ ok: false, code: 'timeout' })
    expect(await run('exec', forever, AbortSignal.timeout(300))).toMatchObject({
      ok: false,
      code: 'cancelled',
    })
  })
})

describe('files', () => {
  it('are written, read by lines, edited and listed', async () => {
    expect(value(await run('write_file', { path: 'a/b.txt', content: 'one\ntwo\nthree\n' }))).toBe(
      'Wrote 14 bytes to a/b.txt.',
    )
    expect(value(await run('read_file', { path: 'a/b.txt' }))).toBe('one\ntwo\nthree\n')
    expect(value(await run('read_file', { path: 'a/b.txt', lineStart: 2, lineEnd: 3 }))).toBe('two\nthree')
    expect(value(await run('read_file', { path: 'a/b.txt', lineStart: 3 }))).toBe('three')
    expect(value(await run('read_file', { path: 'a/b.txt', lineEnd: 1 }))).toBe('one')
    expect(value(await run('edit_file', { path: 'a/b.txt', oldText: 'two', newText: '$& 2' }))).toContain(
      '1 occurrence',
    )
    expect(await readFile(join(home, 'a/b.txt'), 'utf8')).toBe('one\n$& 2\nthree\n')
    expect(value(await run('list_directory'))).toBe('a/')
    expect(await run('list_directory', { path: 'a' })).toMatchObject({
      value: 'b.txt (15)',
      structured: [{ name: 'b.txt', kind: 'file', size: 15 }],
    })
  })

  it('report an invalid range', async () => {
    await writeFile(join(home, 'f'), 'one\ntwo')
    expect(await run('read_file', { path: 'f', lineStart: 3 })).toMatchObject({
      code: 'input_invalid',
      error: 'the file has 2 lines; lineStart 3 is past the end',
    })
    expect(value(await run('read_file', { path: 'f', lineStart: 2, lineEnd: 1 }))).toContain('swap the two')
    expect(await run('read_file', { path: 'f', lineStart: 0 })).toMatchObject({ code: 'input_invalid' })
    await writeFile(join(home, 'empty'), '')
    expect(await run('read_file', { path: 'empty', lineStart: 1 })).toMatchObject({ ok: true, value: '' })
  })

  it('are edited only where the match is unambiguous', async () => {
    await writeFile(join(home, 'f'), 'a b a')
    const edit = (changes: object) => run('edit_file', { path: 'f', oldText: 'a', newText: 'x', ...changes })
    expect(value(await edit({}))).toContain('occurs 2 times')
    expect(value(await edit({ oldText: 'z' }))).toContain('copy the text exactly')
    expect(value(await edit({ oldText: 'b', newText: 'b' }))).toContain('the same')
    expect(await readFile(join(home, 'f'), 'utf8')).toBe('a b a')
    expect(value(await edit({ all: true }))).toContain('2 occurrences')
    expect(await readFile(join(home, 'f'), 'utf8')).toBe('x b x')
  })

  it('that are not text are neither shown nor damaged', async () => {
    await writeFile(join(home, 'binary'), Buffer.from([1, 0, 2]))
    await writeFile(join(home, 'latin'), Buffer.from('caf\xe9', 'latin1'))
    await writeFile(join(home, 'bom'), '\uFEFFtext')
    expect(value(await run('read_file', { path: 'binary' }))).toContain('binary file of 3 bytes')
    expect(value(await run('edit_file', { path: 'latin', oldText: 'c', newText: 'k' }))).toContain(
      'not valid UTF-8',
    )
    await run('edit_file', { path: 'bom', oldText: 'text', newText: 'more' })
    expect(await readFile(join(home, 'bom'), 'utf8')).toBe('\uFEFFmore')
  })

  it('outside the roots are denied by every tool', async () => {
    await symlink('/etc', join(home, 'door'))
    for (const path of ['/etc/passwd', '../x', 'door/passwd']) {
      expect(await run('read_file', { path })).toMatchObject({ code: 'denied' })
      expect(await run('write_file', { path, content: '' })).toMatchObject({ code: 'denied' })
      expect(await run('edit_file', { path, oldText: 'r', newText: '' })).toMatchObject({ code: 'denied' })
      expect(await run('search_files', { pattern: 'root', path })).toMatchObject({ code: 'denied' })
    }
    expect(await run('list_directory', { path: 'door' })).toMatchObject({ code: 'denied' })
    expect(await run('find_files', { pattern: '*', path: '/etc' })).toMatchObject({ code: 'denied' })
  })
})

describe('searching files', () => {
  beforeEach(async () => {
    for (const directory of ['src/deep', 'node_modules/p', '.git'])
      await mkdir(join(home, directory), { recursive: true })
    await writeFile(join(home, 'src/a.ts'), 'const Alpha = 1\r\nconst beta = 2\n')
    await writeFile(join(home, 'src/deep/b.ts'), 'alpha()\n')
    await writeFile(join(home, 'node_modules/p/a.ts'), 'alpha')
    await writeFile(join(home, '.git/a.ts'), 'alpha')
    await writeFile(join(home, 'data.bin'), Buffer.from('alpha\0'))
    await symlink(home, join(home, 'src/loop'))
  })

  it('finds by name, skips ignored directories, and follows no links', async () => {
    expect(await run('find_files', { pattern: '*.ts' })).toMatchObject({
      structured: ['src/a.ts', 'src/deep/b.ts'],
    })
    expect(value(await run('find_files', { pattern: '*.ts', path: 'src/deep' }))).toBe('src/deep/b.ts')
    expect(value(await run('find_files', { pattern: '*.ts', path: join(home, 'src') }))).toContain(
      join(home, 'src/a.ts'),
    )
    expect(value(await run('find_files', { pattern: '*.ts', limit: 1 }))).toBe(
      'src/a.ts\n[only the first 1; narrow the pattern or the path]',
    )
    expect(value(await run('find_files', { pattern: '*.py' }))).toBe('No file matches *.py in ".".')
    expect(value(await run('find_files', { pattern: '{a' }))).toContain('not closed')
    expect(await run('find_files', { pattern: '*', path: 'missing' })).toMatchObject({ ok: false })
  })

  it('finds by content, line by line', async () => {
    const search = async (args: object) => value(await run('search_files', args))
    expect(await search({ pattern: 'alpha' })).toBe('src/deep/b.ts:1: alpha()')
    expect(await search({ pattern: 'ALPHA', ignoreCase: true })).toBe(
      'src/a.ts:1: const Alpha = 1\nsrc/deep/b.ts:1: alpha()',
    )
    expect(await search({ pattern: '= \\d$' })).toBe(
      'src/a.ts:1: const Alpha = 1\nsrc/a.ts:2: const beta = 2',
    )
    expect(await search({ pattern: '^const', limit: 1 })).toBe(
      'src/a.ts:1: const Alpha = 1\n[only the first 1 lines; narrow the search]',
    )
    expect(await search({ pattern: 'beta', path: 'src/a.ts' })).toBe('src/a.ts:2: const beta = 2')
    expect(await search({ pattern: 'a', glob: 'b.*' })).toBe('src/deep/b.ts:1: alpha()')
    expect(await search({ pattern: 'gamma' })).toBe('No line matches gamma in ".".')
    expect(await search({ pattern: '(' })).toContain('cannot be used: a group is not closed')
    expect(await search({ pattern: '(?=a)' })).toContain('/(?=a)/ cannot be used')
  })

  it('is not blocked by any pattern', async () => {
    await writeFile(join(home, 'long'), 'a'.repeat(20_000))
    expect(value(await run('search_files', { pattern: '(a+)+$x', path: 'long' }))).toContain(
      'No line matches',
    )
  })

  it('reports files a pattern is too expensive for, and stops when there are too many', async () => {
    const text = noise(60_000)
    const pattern = 'a(a|b){300}c'
    await writeFile(join(home, 'src/big.txt'), text)
    await writeFile(join(home, 'src/hit.txt'), `a${'b'.repeat(300)}c`)
    const found = value(await run('search_files', { pattern, glob: '*.txt' }))
    expect(found).toBe(
      `src/hit.txt:1: a${'b'.repeat(298)}…\n` +
        '[the pattern was too expensive on 1 files; make it more specific]',
    )
    for (let n = 0; n < 5; n++) await writeFile(join(home, `src/big${n}.txt`), text)
    expect(value(await run('search_files', { pattern, glob: '*.txt' }))).toContain(
      '[too many files to search them all; pass a deeper path or a glob]\n[the pattern was too expensive on 4 files',
    )
  })

  it('skips unreadable files', async () => {
    await chmod(join(home, 'src/deep'), 0)
    await writeFile(join(home, 'large'), 'alpha\n'.repeat(400_000))
    expect(value(await run('search_files', { pattern: 'beta|alpha$' }))).toBe(
      'src/a.ts:2: const beta = 2\n[1 files larger than 2 MiB were not searched]',
    )
    await chmod(join(home, 'src/deep'), 0o755)
  })
})

describe('web_fetch', () => {
  it('reads pages as Markdown, and text and JSON as they are', async () => {
    const fetched = async (path: string) => value(await run('web_fetch', { url: site + path }))
    expect(await fetched('/page')).toBe(`Title: Home\n\n# Hello\n\nSee [x](${site}/x)`)
    expect(await fetched('/json')).toBe('{"a": [1, 2]}')
    expect(await fetched('/text')).toBe('café')
    expect(await fetched('/meta')).toBe('€ 5')
    expect(await fetched('/old')).toMatch(/^\[redirected to .*\/page\]\n\nTitle: Home/)
    expect(await fetched('/empty')).toContain('returned an empty body')
  })

  it('reports what it cannot read or reach', async () => {
    expect(value(await run('web_fetch', { url: `${site}/pdf` }))).toContain(
      'application/pdf (4 bytes), not text',
    )
    expect(value(await run('web_fetch', { url: `${site}/none` }))).toMatch(/returned 404 Not Found: # Gone$/)
    expect(await run('web_fetch', { url: 'http://169.254.169.254/' })).toMatchObject({ code: 'denied' })
    expect(await run('web_fetch', { url: 'example.com' })).toMatchObject({
      code: 'denied',
      error: expect.stringContaining('127.0.0.1'),
    })
    expect(await run('web_fetch', { url: 'localhost:8080/x' })).toMatchObject({ code: 'denied' })
  })
})

describe('memory', () => {
  const texts = (result: ToolResult) =>
    result.ok ? (JSON.parse(result.value) as { text: string }[]).map((memory) => memory.text) : result.error

  it('finds saved memories, best first', async () => {
    await run('memory_save', { text: 'Deployments happen on Tuesdays', tags: ['release'] })
    await run('memory_save', { text: 'The user prefers tabs' })
    expect(value(await run('memory_save', { text: 'The user lives in Köln' }))).toBe('Remembered as M3.')
    expect(texts(await run('memory_search', { query: 'deploy' }))).toEqual(['Deployments happen on Tuesdays'])
    expect(texts(await run('memory_search', { query: 'RELEASE' }))).toEqual([
      'Deployments happen on Tuesdays',
    ])
    expect(texts(await run('memory_search', { query: 'the user köln' }))).toEqual([
      'The user lives in Köln',
      'The user prefers tabs',
    ])
    expect(texts(await run('memory_search', { limit: 1 }))).toEqual(['The user lives in Köln'])
    expect(await run('memory_search', { query: 'nothing alike' })).toMatchObject({
      value: '[]',
      structured: [],
    })
  })
})

describe('kanban', () => {
  it('keeps tickets and moves them', async () => {
    const added = await run('kanban_add', { title: 'Write docs', priority: 'high' })
    const ticket = {
      id: 'T1',
      title: 'Write docs',
      status: 'todo',
      priority: 'high',
      createdAt: '2026-01-02T00:00:00.000Z',
    }
    expect(added).toMatchObject({ ok: true, structured: ticket })
    await run('kanban_add', { title: 'Rest', status: 'blocked' })
    await run('kanban_move', { id: 't1', status: 'done', priority: 'low' })
    const all = await run('kanban_list')
    expect(all).toMatchObject({
      structured: [
        { ...ticket, status: 'done', priority: 'low' },
        { id: 'T2', title: 'Rest', status: 'blocked' },
      ],
    })
    expect(JSON.parse(value(all))).toEqual(all.structured)
    expect(await run('kanban_list', { status: 'done' })).toMatchObject({ structured: [{ id: 'T1' }] })
    expect(value(await run('kanban_move', { id: 'T9', status: 'done' }))).toContain(
      'list the tickets with kanban_list',
    )
    expect(await run('kanban_move', { id: 'T1', status: 'gone' })).toMatchObject({ code: 'input_invalid' })
  })

  it('gives every ticket a unique id, even when added concurrently', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_unused, index) => run('kanban_add', { title: `t${index}` })),
    )
    const { structured } = await run('kanban_list')
    expect(new Set((structured as { id: string }[]).map(({ id }) => id)).size).toBe(20)
  })
})

describe('what models do', () => {
  it('keeps every edit of a batch', async () => {
    await writeFile(join(home, 'a.txt'), 'one two three four five')
    const edits = ['one', 'two', 'three', 'four', 'five'].map((oldText) =>
      run('edit_file', { path: 'a.txt', oldText, newText: oldText.toUpperCase() }),
    )
    expect((await Promise.all(edits)).every(({ ok }) => ok)).toBe(true)
    expect(await readFile(join(home, 'a.txt'), 'utf8')).toBe('ONE TWO THREE FOUR FIVE')
  })

  it('gets input_invalid for a mistake', async () => {
    await writeFile(join(home, 'a.txt'), 'one one')
    const slips: [string, object][] = [
      ['search_files', { pattern: '(' }],
      ['find_files', { pattern: '{a' }],
      ['edit_file', { path: 'a.txt', oldText: 'two', newText: 'x' }],
      ['edit_file', { path: 'a.txt', oldText: 'one', newText: 'x' }],
    ]
    for (const [name, args] of slips) expect(await run(name, args)).toMatchObject({ code: 'input_invalid' })
  })

  it('finds lines with Windows line endings', async () => {
    await writeFile(join(home, 'w.txt'), 'a\r\nb\r\nc\r\n')
    expect(value(await run('search_files', { pattern: 'c$' }))).toBe('w.txt:3: c')
    expect(value(await run('search_files', { pattern: '^b$' }))).toBe('w.txt:2: b')
  })

  it('finds a memory by a word in a script without spaces', async () => {
    await run('memory_save', { text: '東京の天気' })
    await run('memory_save', { text: '大阪の食べ物' })
    const { structured } = await run('memory_search', { query: '天気' })
    expect(structured).toMatchObject([{ text: '東京の天気' }])
    expect(await run('memory_search', { query: '食' })).toMatchObject({
      structured: [{ text: '大阪の食べ物' }],
    })
  })

  it('gets many long memories as complete JSON', async () => {
    for (let index = 0; index < 60; index++)
      await run('memory_save', { text: `note ${index} ${'x'.repeat(3_000)}` })
    const notes = JSON.parse(value(await run('memory_search', { limit: 60 })))
    expect(notes).toHaveLength(21)
    expect(notes[20]).toContain('40 more of 60 items')
  })

  it('learns how a command ended', async () => {
    const quiet = await run('exec', { command: 'node', args: ['-e', ''] })
    expect(quiet).toMatchObject({
      value: '(no output)',
      structured: { exitCode: 0, signal: null, isCut: false },
    })
    const process = processBackend({ commands: ['node'], directories: [home], maxOutputBytes: 1_000 })
    const loop = ['-e', "for (;;) console.log('x'.repeat(1000))"]
    const flooding = await runner({ process })('exec', { command: 'node', args: loop })
    expect(value(flooding)).toContain('[stopped: too much output')
  })
})

/** A deterministic random text of two letters. */
function noise(length: number): string {
  let state = 1
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state % 2 === 0 ? 'a' : 'b'
  }).join('')
}
