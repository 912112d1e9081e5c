// Sub-agents: the model hands a task to one, which works in a fork of the session, within its allowlist.
import assert from 'node:assert/strict'
import { type Tool, ToolRegistry } from 'toolcrib'
import { agentTool, parseAgent, runAgent, scriptedModel } from 'toolcrib/agent'

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

// Usually a separate file; loadAgents("agents") of toolcrib/agent-files reads a folder of them.
const triage = parseAgent(`---
name: triage
description: Looks through issues and says which can be closed.
tools: mcp__github__*
inherit_active_mcp: false
---
You triage issues. Search first; close nothing without a reason.
`)

const model = scriptedModel([
  {
    calls: [{ name: 'agent', args: { agent: 'triage', task: 'Find stale issues.' } }],
    inputTokens: 1000,
    outputTokens: 10,
  },
  // The answers of the sub-agent.
  {
    calls: [{ name: 'mcp__github__search_issues' }, { name: 'mcp__mail__send' }],
    inputTokens: 1000,
    outputTokens: 10,
  },
  { text: 'Issue 7 is stale.', inputTokens: 2000, outputTokens: 100 },
  // The answer of its caller.
  { text: 'You could close issue 7.', inputTokens: 1000, outputTokens: 10 },
])
registry.register(agentTool({ agents: [triage], model, session, maxDepth: 1 }))
const result = await runAgent({
  model,
  session,
  messages: 'What can be closed?',
  // For the run and its sub-agents together.
  prices: { input: 3, cachedInput: 0.3, output: 15 },
  maxCostUsd: 0.5,
})

assert.equal(result.text, 'You could close issue 7.')
assert.equal(result.ledger.requests, 4)
// For 5,000 input and 130 output tokens, including those of the sub-agent.
assert.equal(result.ledger.costUsd?.toFixed(5), '0.01695')
const told = model.requests[2]?.messages.flatMap(({ role, content }) =>
  role === 'tool' ? [String(content)] : [],
)
assert.equal(told?.[0], 'search_issues done')
assert.match(told?.[1] ?? '', /not permitted/)
assert.ok(!session.isActive('mcp__github__search_issues'))
