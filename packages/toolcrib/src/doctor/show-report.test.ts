import { PassThrough } from 'node:stream'
import type { Finding } from '@toolcrib/mcp'
import { describe, expect, it } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
import { showReport } from './show-report.ts'

const clone = (tool: string): Finding => ({
  kind: 'clone',
  severity: 'low',
  server: 'beta',
  tool,
  place: 'description',
  message: `its description is identical to that of "${tool}" of server "alpha"`,
  excerpt: 'x',
  original: { server: 'alpha', tool },
})

describe('the report of doctor', () => {
  it('counts what is ready, says what hangs, and has one line for a pair of servers that are alike', () => {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const { terminal } = fakeTerminal({ output })
    const server = { connectMs: 10, tools: 2, tokens: 300, warnings: [] }
    const reason = 'it hangs: no answer within 30 s'
    showReport(terminal, {
      healthy: false,
      files: ['/home/me/toolcrib.toml'],
      servers: [
        { ...server, server: 'alpha', state: 'ready' },
        { ...server, server: 'beta', state: 'ready' },
        { ...server, server: 'slow', state: 'hanging', reason, step: 'run it by hand' },
        { ...server, server: 'wordy', state: 'failed', reason: 'it said too much '.repeat(12) },
      ],
      findings: [clone('one'), clone('two'), { ...clone('three'), severity: 'high', kind: 'override' }],
      alike: [{ servers: ['alpha', 'beta'], tools: 2 }],
      lockfile: { path: '/home/me/toolcrib.lock', state: 'none', changes: [] },
      nextSteps: ['slow: run it by hand'],
    })
    const shown = String(output.read())
    expect(shown).toContain('Servers: 2 of 4 ready')
    expect(shown).toMatch(/✗ slow +hanging +10 ms\n {6}it hangs: no answer within 30 s\n/)
    expect(shown).toMatch(/low +alpha and beta have 2 tools in common, word for word/)
    expect(shown.match(/identical/g)).toHaveLength(1)
    for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })
})
