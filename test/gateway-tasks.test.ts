import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ToolRegistry, type ToolResult } from 'toolcrib'
import { secretsBackend } from 'toolcrib/capabilities'
import { type GatewayOptions, readAudit } from 'toolcrib/gateway'
import { memoryStore } from 'toolcrib/stores'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connectClient, openGateway, rawRequest } from './gateway.fixture.ts'
import { script } from './mcp/reference-servers.fixture.ts'

const SERVER = script(new URL('./fixtures/tasks-server.mjs', import.meta.url).pathname)
const TASKS = 'io.modelcontextprotocol/tasks'
const _meta = { 'io.modelcontextprotocol/clientCapabilities': { extensions: { [TASKS]: {} } } }
const [ADA, BOB] = ['ada-has-a-long-token', 'bob-has-another-token']

describe('a task of a modern server', () => {
  async function open(registry = new ToolRegistry(), more: Partial<GatewayOptions> = {}) {
    const tokens = [{ token: ADA, name: 'ada' }, { token: BOB }]
    const options = { store: memoryStore(), tokens, mode: 'full', registry, ...more } as const
    const { gateway } = await openGateway({ tasks: SERVER }, options)
    const send = async (method: string, params: Record<string, unknown>, token: string) => {
      const { taskId } = params
      const name = typeof taskId === 'string' ? { 'mcp-name': taskId } : {}
      const headers = { authorization: `Bearer ${token}`, ...name }
      return (await rawRequest(gateway, method, params, headers)).answer
    }
    return { gateway, send, options }
  }

  it('is asked about, answered and cancelled by the client that began it, also after a restart', async () => {
    const { gateway, send, options } = await open()
    expect((await send('server/discover', {}, ADA)).result).toMatchObject({
      capabilities: { extensions: { [TASKS]: {} } },
    })
    const call = { name: 'tasks__confirm_delete', arguments: { filename: 'a.txt' }, _meta }
    const created = (await send('tools/call', call, ADA)).result as Record<string, unknown>
    const unknown = { 'x-unknown': { kept: true } }
    expect(created).toMatchObject({
      resultType: 'task',
      status: 'input_required',
      ttlMs: 600_000,
      ...unknown,
    })
    const { taskId } = created
    expect(taskId).not.toContain('task-1')
    const task = await send('tasks/get', { taskId, _meta }, ADA)
    const confirm = { params: { message: expect.stringMatching(/^\[tasks\] /) } }
    expect(task.result).toMatchObject({ taskId, inputRequests: { confirm }, ttlMs: 600_000, ...unknown })
    const inputResponses = { confirm: { action: 'accept', content: {} } }
    expect((await send('tasks/update', { taskId, inputResponses, _meta }, ADA)).error).toBeUndefined()
    const done = await send('tasks/get', { taskId, _meta }, ADA)
    expect(done.result).toMatchObject({
      status: 'completed',
      result: { content: [{ text: 'a.txt deleted' }] },
    })
    expect((await send('tasks/cancel', { taskId, _meta }, ADA)).result).toMatchObject({
      resultType: 'complete',
    })

    // The id says everything; the server that has the task is another one here.
    await gateway.close()
    const next = await openGateway({ tasks: SERVER }, { ...options, registry: new ToolRegistry() })
    const headers = { authorization: `Bearer ${ADA}`, 'mcp-name': String(taskId) }
    const { answer } = await rawRequest(next.gateway, 'tasks/get', { taskId, _meta }, headers)
    expect(answer.error).toEqual({ code: -32_602, message: 'Unknown task' })
  })

  it('passes hooks, reducers and masks with its result, as a call does', async () => {
    const seen: [string, ToolResult][] = []
    const begun: string[] = []
    const registry = new ToolRegistry({
      capabilities: {
        secrets: secretsBackend({ env: ['TOKEN'], environment: { TOKEN: 's3cr3t-value-42' } }),
      },
      hooks: {
        before_tool_call: ({ name }) => void begun.push(name),
        after_tool_call: ({ name }, result) => {
          seen.push([name, result])
          return result.ok && result.value.includes('deleted')
            ? { ...result, value: `${result.value}, says the hook` }
            : undefined
        },
      },
    })
    const { send } = await open(registry)
    const name = 'tasks__confirm_delete'
    const call = { name, arguments: { filename: 's3cr3t-value-42' }, _meta }
    const { taskId } = (await send('tools/call', call, ADA)).result as Record<string, unknown>
    const inputResponses = { confirm: { action: 'accept', content: {} } }
    await send('tasks/update', { taskId, inputResponses, _meta }, ADA)
    const done = await send('tasks/get', { taskId, _meta }, ADA)
    const text = '*** deleted, says the hook'
    expect(done.result).toMatchObject({
      ...{ taskId, status: 'completed' },
      result: { resultType: 'complete', content: [{ type: 'text', text }] },
    })
    expect(seen.at(-1)).toEqual([`mcp__${name}`, { ok: true, value: '*** deleted' }])
    expect(begun).toEqual([`mcp__${name}`])

    // A tool that is not permitted any more says nothing either.
    registry.quarantine(`mcp__${name}`, 'it changed')
    const later = await send('tasks/get', { taskId, _meta }, ADA)
    expect(later.result).toMatchObject({ result: { isError: true } })
    expect(JSON.stringify(later.result)).not.toContain('deleted')
  })

  it('is recorded when it begins and when it has ended, once, and a large result of it is shortened', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'toolcrib-audit-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const limits = { maxResultTokens: 200 }
    const { send } = await open(new ToolRegistry(), { audit: { directory }, limits })
    const filename = Array.from({ length: 500 }, (_, n) => `part ${n}`).join('\n')
    const call = { name: 'tasks__confirm_delete', arguments: { filename }, _meta }
    const { taskId } = (await send('tools/call', call, ADA)).result as Record<string, unknown>
    const entries = async () =>
      (await readAudit(directory)).map(({ who, tool, outcome }) => [who, tool, outcome])
    const tool = 'mcp__tasks__confirm_delete'
    expect(await entries()).toEqual([['ada', tool, 'task']])
    const inputResponses = { confirm: { action: 'accept', content: {} } }
    await send('tasks/update', { taskId, inputResponses, _meta }, ADA)
    for (const _again of [1, 2]) {
      const { result } = (await send('tasks/get', { taskId, _meta }, ADA)).result as Record<string, unknown>
      const text = JSON.stringify(result)
      expect(text.length).toBeLessThan(2_000)
      const handle = /handle \\"(r_\w+)/.exec(text)?.[1]
      const read = { name: 'read_result', arguments: { handle, pattern: 'part 250' }, _meta }
      expect(JSON.stringify(await send('tools/call', read, ADA))).toContain('part 250')
      expect(JSON.stringify(await send('tools/call', read, BOB))).not.toContain('part 250')
    }
    expect(await entries()).toEqual([
      ['ada', tool, 'task'],
      ['ada', tool, 'ok'],
    ])
    const [began, ended] = await readAudit(directory)
    expect(ended?.digest).toBe(began?.digest)

    const slow = { name: 'tasks__slow_compute', arguments: { seconds: 60 }, _meta }
    const other = (await send('tools/call', slow, ADA)).result as Record<string, unknown>
    await send('tasks/cancel', { taskId: other.taskId, _meta }, ADA)
    await send('tasks/get', { taskId: other.taskId, _meta }, ADA)
    expect((await entries()).slice(2).map(([, , outcome]) => outcome)).toEqual(['task', 'cancelled'])
  })

  it('does not exist for anybody else', async () => {
    const { send } = await open()
    const call = { name: 'tasks__slow_compute', arguments: { seconds: 60 }, _meta }
    const { taskId } = (await send('tools/call', call, ADA)).result as Record<string, unknown>
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      for (const id of [taskId, 'task-1', `${taskId}x`])
        expect(await send(method, { taskId: id, _meta }, BOB)).toMatchObject({ error: { code: -32_602 } })
    expect((await send('tasks/get', { taskId, _meta }, ADA)).result).toMatchObject({ status: 'working' })
    await send('tasks/cancel', { taskId, _meta }, ADA)
  })

  it('is not begun for a client that does not know tasks', async () => {
    const { gateway, send } = await open()
    const call = { name: 'tasks__slow_compute', arguments: { seconds: 0 } }
    const content = [{ type: 'text', text: 'computed in 0 s' }]
    expect((await send('tools/call', call, ADA)).result).toMatchObject({ content, resultType: 'complete' })
    expect(await send('tasks/get', { taskId: 'x' }, ADA)).toMatchObject({
      error: { code: -32_021, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
    })
    const capabilities = { extensions: { [TASKS]: {} } }
    const older = await connectClient(gateway, { era: 'legacy', token: ADA, capabilities })
    expect(older.getServerCapabilities()).not.toHaveProperty('extensions')
    expect((await older.callTool(call)).content).toEqual(content)
  })
})
