// Sub-agents: the model delegates a task to one, which works in a fork of the session, within its allowlist.
import assert from 'node:assert/strict'
import { type Tool, ToolRegistry } from 'toolcrib'
import { agentTool, Ledger, parseAgent, runAgent, scriptedModel } from 'toolcrib/agent'

const tool = (name: string, description: string): Tool => ({
  name,
  description,
  inputSchema: { type: 'object' },
  execute: () => ({ ok: true, value: `${name} done` }),
})

const registry = new ToolRegistry({ mode: 'lazy' })
registry.syncMcp('github', [tool('search_issues', 'Search issues.'), tool('close_issue', 'Close an issue.')])
registry.syncMcp('mail', [tool('send', 'Send an email.')])
const session = await registry.openSession()

// The same text could be a file; loadAgents('agents') reads a folder of them.
const triage = parseAgent(`---
name: triage
description: Looks through issues and says which can be closed.
tools: mcp__github__*
inherit_active_mcp: false
---
You triage issues. Search first; close nothing without a reason.
`)

const model = scriptedModel([
  { calls: [{ name: 'agent', args: { agent: 'triage', task: 'Find stale issues.' } }] },
  // These turns belong to the sub-agent.
  { calls: [{ name: 'mcp__github__search_issues' }, { name: 'mcp__mail__send' }] },
  { text: 'Issue 7 is stale.' },
  // This one belongs to its caller again.
  { text: 'You could close issue 7.' },
])
const ledger = new Ledger()
registry.register(agentTool({ agents: [triage], model, session, ledger, maxDepth: 1 }))
const result = await runAgent({ model, session, ledger, messages: 'What can be closed?' })

assert.equal(result.text, 'You could close issue 7.')
assert.equal(result.ledger.requests, 4)
const told = model.requests[2]?.messages.flatMap(({ role, content }) =>
  role === 'tool' ? [String(content)] : [],
)
assert.equal(told?.[0], 'search_issues done')
assert.match(told?.[1] ?? '', /not permitted/)
assert.ok(!session.isActive('mcp__github__search_issues'))
