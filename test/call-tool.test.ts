import { ToolRegistry } from 'toolcrib'
import { describe, expect, it } from 'vitest'
import { call, tool } from './helpers.ts'

describe('call_tool', () => {
  const open = async () => {
    const ran: unknown[] = []
    const registry = new ToolRegistry({ mode: 'lazy', defer: 'all', strategy: 'dispatch' })
    registry.register(
      tool('delete_rows', {
        inputSchema: { type: 'object', properties: { customer: { type: 'string' } } },
        execute: (input) => {
          ran.push(input)
          return { ok: true, value: 'deleted' }
        },
      }),
    )
    return { ran, registry, session: await registry.openSession() }
  }

  it.each([
    ['flat', { customer: 'acme' }, '"customer"'],
    ['under args', { args: { customer: 'acme' } }, '"args"'],
    ['under input', { input: { customer: 'acme' } }, '"input"'],
    ['under parameters', { parameters: { customer: 'acme' } }, '"parameters"'],
    ['in both places', { arguments: { customer: 'acme' }, customer: 'other' }, '"customer"'],
    ['under args besides', { arguments: { customer: 'acme' }, args: {} }, '"args"'],
  ])('runs nothing with arguments %s, and shows the right form', async (_, more, found) => {
    const { ran, session } = await open()
    const result = await call(session, 'call_tool', { name: 'delete_rows', ...more })
    expect(result).toMatchObject({ ok: false, code: 'input_invalid' })
    const error = result.ok ? '' : result.error
    expect(error).toContain('{ "name": "delete_rows", "arguments": { … } }')
    expect(error).toContain(`found ${found}`)
    expect(error).toContain('Nothing was run.')
    expect(ran).toEqual([])
    expect(session.isActive('delete_rows')).toBe(false)
  })

  it('compares no name that is longer than any tool’s with those that there are', async () => {
    const { session } = await open()
    const errorOf = async (name: string) => {
      const result = await call(session, 'call_tool', { name, arguments: {} })
      return result.ok ? result.value : result.error
    }
    expect(await errorOf('delete__rows')).toBe('deleted')
    expect(await errorOf('delete_row')).toContain('did you mean delete_rows?')
    const long = `delete${'_'.repeat(2_000)}`
    expect(await errorOf(`${long}rows`)).toContain('find it with tool_search')
    expect(await errorOf(`${long}row`)).toContain('find it with tool_search')
  })

  it('names what is close to a name of an MCP tool, also without its prefix', async () => {
    const { registry, session } = await open()
    registry.syncMcp('desk', [tool('create_ticket')])
    for (const name of ['desk__create_tiket', 'desk.create_tiket', 'create_tiket', 'mcp__desk__create_tiket'])
      expect(await call(session, 'call_tool', { name, arguments: {} })).toMatchObject({
        error: `Unknown tool: ${name}; did you mean mcp__desk__create_ticket?`,
      })
  })

  it('names at most five misplaced keys, each cut short', async () => {
    const { session } = await open()
    const flat = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}${'k'.repeat(500)}`, n]))
    const result = await call(session, 'call_tool', { name: 'delete_rows', ...flat })
    expect(result.ok ? '' : result.error).not.toContain('5kk')
    expect((result.ok ? '' : result.error).length).toBeLessThan(700)
  })

  it('runs what was meant, and passes on arguments that are not an object for the tool to refuse', async () => {
    const { ran, session } = await open()
    const run = (args: unknown) => call(session, 'call_tool', args)
    expect(await run({ name: 'delete_rows', arguments: { customer: 'acme' } })).toMatchObject({ ok: true })
    expect(await run({ name: 'delete_rows' })).toMatchObject({ ok: true })
    expect(ran).toEqual([{ customer: 'acme' }, {}])
    for (const args of [{ name: 'delete_rows', arguments: [1] }, ['delete_rows'], 'delete_rows', { name: 7 }])
      expect(await run(args)).toMatchObject({ ok: false, code: 'input_invalid' })
    expect(ran).toHaveLength(2)
  })

  it('never calls itself, and says so', async () => {
    const { session } = await open()
    for (const name of ['call_tool', 'Call_Tool'])
      expect(await call(session, 'call_tool', { name, arguments: { name: 'delete_rows' } })).toMatchObject({
        ok: false,
      })
    expect(await call(session, 'call_tool', { name: 'call_tool', arguments: {} })).toEqual({
      ok: false,
      code: 'input_invalid',
      error: 'call_tool cannot call itself; give the name of another tool',
    })
  })

  it('never names itself among the close ones', async () => {
    const { session } = await open()
    const result = await call(session, 'call_tool', { name: 'call_tol', arguments: {} })
    expect(result.ok ? '' : result.error).toBe('Unknown tool: call_tol; find it with tool_search')
  })

  it('searches through call_tool as well', async () => {
    const { session } = await open()
    expect(
      await call(session, 'call_tool', { name: 'tool_search', arguments: { name: 'delete_rows' } }),
    ).toMatchObject({ ok: true, structured: { activated: true, name: 'delete_rows' } })
  })
})
