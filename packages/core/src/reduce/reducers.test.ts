import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ToolcribError } from '../errors.ts'
import type { ToolResult } from '../tool.ts'
import { jsonReducer } from './json.ts'
import { kanbanList } from './kanban-list.ts'
import { readFileReducer } from './read-file.ts'
import type { Reducer } from './reducer.ts'
import { ReducerRegistry } from './reducer-registry.ts'
import { terminalReducer } from './terminal.ts'

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}.txt`, import.meta.url), 'utf8')
const apply = (reducer: Reducer, value: string, args: unknown = {}) => {
  const reduced = reducer.reduce({ ok: true, value }, { args, turnCount: 0 })
  return reduced?.ok ? reduced.value : undefined
}

describe('ReducerRegistry', () => {
  const reducer = (toolName = 'exec'): Reducer => ({ toolName, reduce: () => undefined })

  test('finds a reducer by the exact name', () => {
    const registry = new ReducerRegistry()
    const mine = reducer()
    registry.register(mine)
    expect(registry.get('exec')).toBe(mine)
    expect(registry.get('Exec')).toBeUndefined()
    expect(registry.get('constructor')).toBeUndefined()
  })

  test('rejects anything but a reducer, and says how to use a factory', () => {
    const registry = new ReducerRegistry()
    for (const bad of [
      {},
      null,
      { toolName: 'x' },
      { toolName: '', reduce: () => undefined },
      readFileReducer,
    ]) {
      expect(() => registry.register(bad as unknown as Reducer)).toThrow(
        expect.objectContaining({ code: 'config-invalid' }),
      )
    }
    expect(() => registry.register(readFileReducer as unknown as Reducer)).toThrow('readFileReducer()')
  })

  test('rejects a second one for a name', () => {
    const registry = new ReducerRegistry()
    registry.register(reducer())
    expect(() => registry.register(reducer())).toThrow(ToolcribError)
    expect(() => registry.register(reducer())).toThrow(expect.objectContaining({ code: 'tool-duplicate' }))
  })

  test('removes one, once', () => {
    const registry = new ReducerRegistry()
    const undo = registry.register(reducer())
    undo()
    expect(registry.get('exec')).toBeUndefined()
    const newer = reducer()
    registry.register(newer)
    undo()
    expect(registry.get('exec')).toBe(newer)
  })

  test('an old undo does not remove the same reducer after it was registered again', () => {
    const registry = new ReducerRegistry()
    const mine = reducer()
    const undo = registry.register(mine)
    undo()
    registry.register(mine)
    undo()
    expect(registry.get('exec')).toBe(mine)
  })
})

describe('terminal', () => {
  const exec = terminalReducer({ toolName: 'exec' })

  test('condenses git status to counts and the first files of each kind', () => {
    const text = fixture('git-status')
    const reduced = apply(exec, text)
    expect(reduced).toContain('On branch feature/reducers')
    expect(reduced).toContain('Changes to be committed (5):')
    expect(reduced).toContain('  renamed:    f31.txt -> moved.txt')
    expect(reduced).toContain('Untracked files (60):')
    expect(reduced).toContain('… and 50 more')
    expect(reduced).toContain('run git status with a path')
    expect(reduced).not.toContain('(use "git')
    expect(reduced?.length).toBeLessThan(text.length / 2)
  })

  test('condenses the short form too', () => {
    const reduced = apply(exec, fixture('git-status-short'))
    expect(reduced).toContain('## feature/reducers')
    expect(reduced).toContain('Untracked files (60):')
    expect(reduced).toContain('Status " M" (11):')
  })

  test('keeps every file of a small git status', () => {
    const text =
      'On branch main\nUntracked files:\n  (use "git add <file>..." to include)\n\ta.txt\n\tb.txt\n\nnothing added to commit\n'
    expect(apply(exec, text)).toBe(
      'On branch main\nUntracked files (2):\n  a.txt\n  b.txt\nnothing added to commit',
    )
  })

  for (const [name, kept, dropped] of [
    [
      'vitest',
      [
        '× t/bad.test.ts > basket > sums prices',
        'expected 6 to be 7',
        '2 failed | 121 passed',
        '[exit code 1]',
      ],
      'case 6-8 adds',
    ],
    ['node-test', ['not ok 31 - breaks', "error: '1 == 2'", '# pass 30', '# fail 1'], 'ok 29 - adds'],
    [
      'pytest',
      ['test_breaks FAILED', 'At index 0 diff: 1 != 3', '1 failed, 25 passed', '[exit code 1]'],
      'test_adds[22] PASSED',
    ],
  ] as const) {
    test(`keeps failures and totals of a run of ${name}, and drops what passed`, () => {
      const text = fixture(name)
      const reduced = apply(exec, text)
      for (const part of kept) expect(reduced).toContain(part)
      expect(reduced).not.toContain(dropped)
      expect(reduced).toMatch(/^\[\d+ lines about passing tests left out; run a smaller part to see them\]/)
      expect(reduced?.length).toBeLessThan(text.length / 2)
    })
  }

  test('keeps installed packages and warnings, and drops the rest of an install', () => {
    const reduced = apply(exec, fixture('pip-install'))
    expect(reduced).toContain('Successfully installed blinker-1.9.0')
    expect(reduced).toContain('WARNING: Running pip as the')
    expect(reduced).not.toContain('Processing /')
  })

  test('leaves a failed install unchanged', () => {
    expect(apply(exec, fixture('npm-error'))).toBeUndefined()
  })

  test('keeps the beginning and the end of other output past 8 KB, cut between lines', () => {
    const lines = Array.from({ length: 2_000 }, (_, n) => `line ${n} of some log`)
    const reduced = apply(exec, [...lines, '[exit code 3]'].join('\n')) ?? ''
    expect(reduced.length).toBeLessThanOrEqual(8_192)
    expect(reduced.startsWith('line 0 of some log\nline 1 ')).toBe(true)
    expect(reduced.endsWith('line 1999 of some log\n[exit code 3]')).toBe(true)
    const [, left = ''] = /\[… (\d+) lines, \d+ chars left out; run it again/.exec(reduced) ?? []
    expect(reduced.split('\n').length - 1 + Number(left)).toBe(2_001)
  })

  test('leaves short output unchanged, and removes colours', () => {
    expect(apply(exec, 'hello\n')).toBeUndefined()
    expect(apply(exec, '\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link')).toBe('red link')
  })

  test('keeps what is not text, and shortens the text of an error', () => {
    const result: ToolResult = { ok: true, value: 'x\n'.repeat(9_000), structured: { n: 1 }, costUsd: 2 }
    expect(exec.reduce(result, { args: {}, turnCount: 0 })).toMatchObject({
      structured: { n: 1 },
      costUsd: 2,
    })
    const failed = exec.reduce(
      { ok: false, error: 'x'.repeat(9_000_000), code: 'c' },
      { args: {}, turnCount: 0 },
    )
    expect(failed).toMatchObject({ ok: false, code: 'c', error: expect.stringContaining('chars left out') })
    expect(failed?.ok === false && failed.error.length).toBeLessThan(8_192)
    expect(exec.reduce({ ok: false, error: 'short', code: 'c' }, { args: {}, turnCount: 0 })).toBeUndefined()
  })

  test('counts bytes: output in another script is cut like any other', () => {
    const text = '日本語の出力\n'.repeat(700)
    const bytes = (of: string) => new TextEncoder().encode(of).length
    expect(text.length).toBeLessThan(8_192)
    expect(bytes(text)).toBeGreaterThan(12_000)
    expect(bytes(apply(exec, text) ?? text)).toBeLessThanOrEqual(8_192)
  })

  test('keeps errors, and does not mistake other output for an install', () => {
    const job = [
      'Processing order 1',
      'Processing order 2 FAILED: card declined',
      'Downloading report ERROR 500',
      'info server crashed',
      ...Array.from({ length: 20 }, (_, index) => `Processing order ${index + 3}`),
      'Done in 3.2s',
    ].join('\n')
    expect(apply(exec, job)).toBeUndefined()
    const pip = [
      ...Array.from({ length: 9 }, (_, index) => `Collecting package-${index}`),
      'Downloading wheel failed: connection reset',
      'Successfully installed a-1',
    ].join('\n')
    expect(apply(exec, pip)).toBe(
      '[9 routine lines of the install left out; run a smaller part to see them]\nDownloading wheel failed: connection reset\nSuccessfully installed a-1',
    )
  })

  test('knows the warnings of older npm, the lines of bun, and a rebase', () => {
    const npm = `${'npm WARN deprecated left-pad@1.0.0: use padStart\n'.repeat(8)}added 9 packages in 2s`
    expect(apply(exec, npm)).toMatch(/^\[8 routine lines/)
    const bun = `bun install v1.1.0\n${' + react@18.0.0 (downloaded)\n'.repeat(8)}9 packages installed [1.00s]`
    expect(apply(exec, bun)).toMatch(/^\[8 routine lines/)
    const files = Array.from({ length: 40 }, (_, index) => `\tfile-${index}.ts`).join('\n')
    const rebase = `interactive rebase in progress; onto 1234567\nUntracked files:\n  (use "git add <file>..." to include)\n${files}\n`
    expect(apply(exec, rebase)).toContain('Untracked files (40):')
  })

  test('shows what a terminal would of carriage returns', () => {
    const bar = Array.from({ length: 101 }, (_, percent) => `\rDownloading ${percent}%`).join('')
    expect(apply(exec, `start\r\n${bar}\r\nend\r\n`)).toBe('start\nDownloading 100%\nend\n')
    expect(apply(exec, 'over\rwritten\r')).toBe('written')
  })

  test.each<[string, readonly string[], (index: number) => string, readonly string[]]>([
    ['uv', ['Resolved 9 packages in 12ms'], (n) => ` + package-${n}==1.0`, ['Installed 9 packages in 5ms']],
    ['poetry', ['Package operations: 9 installs, 0 updates'], (n) => `  - Installing package-${n} (1.0)`, []],
    [
      'bundler',
      ['Fetching gem metadata from https://x/'],
      (n) => `Using gem-${n} 1.0`,
      ['Bundle complete! 9 gems'],
    ],
    ['brew', ['==> Fetching wget'], (n) => `==> Downloading https://x/${n}`, ['🍺  /opt/wget: 9 files, 4MB']],
    [
      'dotnet',
      ['  Determining projects to restore...'],
      (n) => `  Restored /src/p${n}.csproj (in 90 ms).`,
      ['    0 Warning(s)'],
    ],
    [
      'maven',
      ['[INFO] Scanning for projects...'],
      (n) => `Downloading from central: https://x/${n}.jar`,
      ['[INFO] BUILD SUCCESS'],
    ],
    ['gradle', [], (n) => `> Task :module-${n}:compileJava UP-TO-DATE`, ['BUILD SUCCESSFUL in 4s']],
    [
      'dotnet test',
      [],
      (n) => `  Passed Adds${n} [< 1 ms]`,
      ['Failed!  - Failed:     1, Passed:     9, Skipped:     0'],
    ],
  ])(
    'drops the routine lines of %s, and keeps warnings, failures and totals',
    (_, before, routine, after) => {
      const trouble = ['warning: deprecated', 'error: no such version']
      const lines = Array.from({ length: 9 }, (_, index) => routine(index))
      const reduced = apply(exec, [...before, ...lines, ...trouble, ...after].join('\n')) ?? ''
      expect(reduced).toMatch(/^\[\d+ (?:routine lines|lines about passing tests)/)
      for (const line of [...trouble, ...after]) expect(reduced).toContain(line)
      for (const line of lines) expect(reduced).not.toContain(line)
    },
  )

  test('never lengthens a text, exceeds its limit or splits a character', () => {
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        'On branch x',
        'Untracked files:',
        '\tfile',
        ' ✓ passes',
        'Tests  1 passed (1)',
        '?? a',
        '😀'.repeat(3_000),
      ),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
        const text = lines.join('\n')
        const reduced = apply(exec, text)
        if (reduced === undefined) return
        expect(reduced.length).toBeLessThan(text.length)
        expect(reduced.length).toBeLessThanOrEqual(8_192)
        expect(reduced).not.toMatch(/\p{Surrogate}/u)
      }),
    )
  })
})

describe('readFile', () => {
  const reducer = readFileReducer()
  const long = `${Array.from({ length: 3_000 }, (_, n) => `const line${n + 1} = ${n + 1}`).join('\n')}\n`

  test('shows the first 200 lines of a file read whole, and how to continue', () => {
    const lines = apply(reducer, long, { path: 'a.ts' })?.split('\n') ?? []
    expect(lines).toHaveLength(201)
    expect(lines[200]).toBe('const line200 = 200')
    // At the start, since a later cut removes the end.
    expect(lines[0]).toBe(
      `[lines 1–200 of 3000, ${long.length} chars in total; continue with lineStart 201 and a lineEnd]`,
    )
  })

  test('says the size of a file of few but long lines', () => {
    const line = 'x'.repeat(500_000)
    expect(apply(reducer, line, { path: 'a.min.js' })).toBe(`[1 line, 500000 chars in total]\n${line}`)
    expect(apply(reducer, 'short', { path: 'a.ts' })).toBeUndefined()
  })

  test('leaves a requested range unchanged', () => {
    expect(apply(reducer, long, { path: 'a.ts', lineStart: 1, lineEnd: 3_000 })).toBeUndefined()
    expect(apply(reducer, long, { path: 'a.ts', lineStart: 1 })).toBeUndefined()
    expect(apply(reducer, long, { path: 'a.ts', lineEnd: 900 })).toBeUndefined()
    expect(apply(reducer, long, { path: 'a.ts', lineStart: null })).toBeDefined()
  })

  test.each([
    [['lineStart', 'lineEnd'], '; continue with lineStart 201 and a lineEnd]'],
    [['start_line', 'end_line'], '; continue with start_line 201 and an end_line]'],
    [['offset', 'limit'], '; continue with offset and limit]'],
    [['head', 'tail'], '; read another part with head or tail]'],
    [['path'], `${long.length} chars in total]`],
  ])('knows the range of a tool with %j, and names no others', (keys, hint) => {
    const inputSchema = { type: 'object', properties: Object.fromEntries(keys.map((key) => [key, {}])) }
    const read = (args: object) =>
      reducer.reduce({ ok: true, value: long }, { args, turnCount: 0, inputSchema })
    const reduced = read({ path: 'a.ts' })
    expect(reduced?.ok && reduced.value.split('\n')[0]?.endsWith(hint)).toBe(true)
    if (keys.length > 1) expect(read({ [keys[0] ?? '']: 5 })).toBeUndefined()
  })

  test('leaves a file of 200 lines unchanged, with or without a final line break', () => {
    const text = Array.from({ length: 200 }, () => 'x').join('\n')
    expect(apply(reducer, text)).toBeUndefined()
    expect(apply(reducer, `${text}\n`)).toBeUndefined()
    expect(apply(reducer, `${text}\nx`)).toBeDefined()
  })
})

describe('kanbanList', () => {
  test('recognises a board by its columns, inside another object, and beside other lists', () => {
    const column = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ id: `T${n}`, title: `t${n}` }))
    const columns = apply(kanbanList(), JSON.stringify({ todo: column(8), done: column(7) }))
    expect(columns).toContain('15 tickets: todo 8, done 7\nTop 5 of 8 open:')
    const tickets = column(12).map((ticket) => ({ ...ticket, status: 'todo' }))
    const labels = [{ id: 'l1', title: 'bug' }]
    expect(apply(kanbanList(), JSON.stringify({ labels, tickets }))).toContain('12 tickets: todo 12')
    expect(apply(kanbanList(), JSON.stringify({ board: { tickets } }))).toContain('12 tickets: todo 12')
  })

  test('does not split a character of a title', () => {
    const tickets = Array.from({ length: 12 }, () => ({ id: 'T', status: 'todo', title: '😀'.repeat(200) }))
    expect(apply(kanbanList(), JSON.stringify(tickets))).not.toMatch(/\p{Surrogate}/u)
  })

  const statuses = ['todo', 'doing', 'done']
  const priorities = ['low', 'high', 'medium', 'urgent', undefined]
  const tickets = Array.from({ length: 60 }, (_, n) => ({
    id: `T${n}`,
    title: `Ticket\nnumber ${n}`,
    status: statuses[n % 3],
    ...(priorities[n % 5] === undefined ? {} : { priority: priorities[n % 5] }),
  }))

  test('shows a board of 60 as counts and the five open tickets with the highest priority', () => {
    expect(apply(kanbanList(), JSON.stringify(tickets))).toBe(
      [
        '60 tickets: todo 20, doing 20, done 20',
        'Top 5 of 40 open:',
        '- T3 [todo, urgent] Ticket number 3',
        '- T13 [doing, urgent] Ticket number 13',
        '- T18 [todo, urgent] Ticket number 18',
        '- T28 [doing, urgent] Ticket number 28',
        '- T33 [todo, urgent] Ticket number 33',
        '[55 tickets left out; call kanban_list with a status to see those]',
      ].join('\n'),
    )
  })

  test('leaves ten tickets, and a list of one status, as they are', () => {
    expect(apply(kanbanList(), JSON.stringify(tickets.slice(0, 10)))).toBeUndefined()
    expect(apply(kanbanList(), JSON.stringify(tickets), { status: 'todo' })).toBeUndefined()
  })

  test('reads the tickets from structured, which survives', () => {
    const result: ToolResult = { ok: true, value: 'a table', structured: tickets }
    const reduced = kanbanList().reduce(result, { args: {}, turnCount: 0 })
    expect(reduced).toMatchObject({ value: expect.stringContaining('60 tickets'), structured: tickets })
  })

  test('leaves other data unchanged', () => {
    expect(apply(kanbanList(), 'no tickets')).toBeUndefined()
    expect(apply(kanbanList(), JSON.stringify(Array.from({ length: 20 }, (_, n) => n)))).toBeUndefined()
  })

  test.each([
    ['people', Array.from({ length: 20 }, (_, id) => ({ id, name: 'Ann' }))],
    ['titles without a status', Array.from({ length: 20 }, (_, id) => ({ id, title: 'x' }))],
    ['a status without titles', Array.from({ length: 20 }, (_, id) => ({ id, status: 'up' }))],
    ['some tickets among other items', [...tickets, { id: 'x' }]],
    ['pages beside other fields', { total: 20, pages: Array.from({ length: 20 }, () => ({ title: 'x' })) }],
    ['one list of titles', { books: Array.from({ length: 20 }, () => ({ title: 'x' })) }],
    [
      'columns and numbers',
      { todo: tickets.map(({ title }) => ({ title })), done: [{ title: 'x' }], size: 3 },
    ],
  ])('leaves a shape alone that it does not know: %s', (_name, data) => {
    expect(apply(kanbanList(), JSON.stringify(data))).toBeUndefined()
  })
})

describe('options of reducers', () => {
  test('throw when unknown or out of range', () => {
    expect(() => terminalReducer({ maxByte: 5 } as never)).toThrow('did you mean "maxBytes"?')
    expect(() => terminalReducer({ maxBytes: 0 })).toThrow(
      'maxBytes is 0; it must be a whole number, 1 or more',
    )
    expect(() => readFileReducer({ maxLines: -1 })).toThrow('readFileReducer(): maxLines is -1')
    expect(() => kanbanList({ top: 5 } as never)).toThrow('kanbanList() has no option "top"')
    expect(() => jsonReducer({} as never)).toThrow('jsonReducer() needs the option "toolName"')
    expect(() => jsonReducer({ toolName: 'x', maxItems: 1.5 })).toThrow('maxItems is 1.5')
  })

  test('are optional for terminalReducer(): it defaults to exec', () => {
    expect(terminalReducer().toolName).toBe('exec')
    expect(apply(terminalReducer(), 'line\n'.repeat(5_000))).toContain('left out')
  })
})

describe('json', () => {
  const reducer = jsonReducer({ toolName: 'list_users' })
  const users = Array.from({ length: 500 }, (_, id) => ({
    id,
    name: `User ${id}`,
    tags: Array.from({ length: 50 }, (_, n) => n),
  }))

  test('shows a sample of long arrays with a count, at every depth, and stays JSON', () => {
    const text = JSON.stringify({ page: 1, users })
    const reduced = JSON.parse(apply(reducer, text) ?? '')
    expect(reduced.page).toBe(1)
    expect(reduced.users).toHaveLength(6)
    expect(reduced.users[5]).toBe('[495 more of 500 items left out; request a page or fewer items]')
    expect(reduced.users[0]).toEqual({
      id: 0,
      name: 'User 0',
      tags: [0, 1, 2, 3, 4, '[45 more of 50 items left out; request a page or fewer items]'],
    })
  })

  test('writes out no hidden characters that were escaped', () => {
    const text = JSON.stringify({ note: 'HIDDEN', users }).replace('HIDDEN', 'a\\u202eb\\udb40\\udc41c')
    expect(JSON.parse(apply(reducer, text) ?? '').note).toBe('abc')
  })

  test('shows the beginning of long texts', () => {
    const reduced = JSON.parse(apply(reducer, JSON.stringify({ body: 'x'.repeat(10_000) })) ?? '')
    expect(reduced.body).toBe(`${'x'.repeat(2_000)}… [8000 more of 10000 chars left out]`)
  })

  test('keeps every digit of a number, and rewrites nothing when nothing is long', () => {
    const list = Array.from({ length: 30 }, () => '12345678901234567890').join(', ')
    const text = `{ "ids": [${list}], "rate": 1.50, "mass": 1e400, "digits": "12345678901234567890" }`
    const value = apply(reducer, text) ?? ''
    expect(value).toContain('{"ids":[12345678901234567890,12345678901234567890,')
    expect(value).toContain('"mass":1e400,"digits":"12345678901234567890"}')
    expect(apply(reducer, '{ "id": 12345678901234567890 }')).toBeUndefined()
  })

  test('leaves short JSON and other text unchanged', () => {
    expect(apply(reducer, '{ "a": [1, 2, 3] }')).toBeUndefined()
    expect(apply(reducer, '{"a":[1,2,3]}')).toBeUndefined()
    expect(apply(reducer, 'plain text')).toBeUndefined()
    expect(apply(reducer, `"${'x'.repeat(9_000)}"`)).toBeUndefined()
  })

  test('keeps the whole in structured', () => {
    const result: ToolResult = { ok: true, value: JSON.stringify(users), structured: users }
    expect(reducer.reduce(result, { args: {}, turnCount: 0 })).toMatchObject({ structured: users })
  })
})
