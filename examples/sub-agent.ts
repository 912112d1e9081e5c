// A sub-agent gets a fork: its parent's tools within an allowlist, and its own search.
import assert from 'node:assert/strict'
import { type Tool, ToolRegistry } from 'toolcrib'

const tool = (name: string, description: string): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  execute: () => ({ ok: true, value: `${name} done` }),
})

const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('github', [tool('search_issues', 'Search issues.'), tool('close_issue', 'Close an issue.')])
registry.syncMcp('mail', [tool('send', 'Send an email.'), tool('search', 'Search emails.')])

const parent = await registry.openSession()
await parent.activate(['mcp__github__search_issues', 'mcp__mail__send'])

const child = parent.fork({ tools: ['mcp__github__*'] })
assert.deepEqual(
  child.surface().tools.map(({ name }) => name),
  ['tool_search', 'mcp__github__search_issues'],
)

// Tools that the child finds are active only in the child.
await child.execute([{ toolCallId: '1', name: 'tool_search', args: { query: 'close issue' } }])
assert.ok(child.surface().tools.some(({ name }) => name === 'mcp__github__close_issue'))
assert.ok(!parent.surface().tools.some(({ name }) => name === 'mcp__github__close_issue'))

// It cannot reach a tool that it may not use, by search or by name.
const [refused] = await child.execute([{ toolCallId: '2', name: 'mcp__mail__send', args: {} }])
assert.equal(refused?.result.ok, false)
assert.deepEqual((await child.search('send email')).matches, [])
