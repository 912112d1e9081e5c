// Runs as a separate process: connects to a server by its script or its launcher, makes the given calls, and prints their
// results.
import { readFileSync } from 'node:fs'
import { ToolRegistry } from '../../packages/core/src/tool-registry.ts'
import { connectServers } from '../../packages/mcp/src/index.ts'

const [server = '', marker = '', ...given] = process.argv.slice(2)
const calls = given.filter((name) => !name.startsWith('--'))
const flags = given.filter((name) => name.startsWith('--') && name !== '--exit')
const registry = new ToolRegistry()
const command = server === 'npx' ? { command: 'npx', args: ['-y', marker, ...flags] } : undefined
const script = { command: process.execPath, args: [server, marker, ...flags] }
const hostile = { ...(command ?? script), timeoutMs: 50_000 }
const lineIsOut = new AbortController()
const servers = connectServers(
  registry,
  { servers: { hostile } },
  {
    onEvent: (event) => {
      if (event.type === 'server-output' && event.line === 'all of the line is out') lineIsOut.abort()
    },
  },
)
await servers.ready()

const answers: unknown[] = []
for (const call of calls) {
  const [name, megabytes] = call.split(':')
  const args = megabytes === undefined ? {} : { megabytes: Number(megabytes) }
  const request = { toolCallId: call, name: `mcp__hostile__${name}`, args }
  // It never ends. Cancelled before all of its line is out, the next answer would be a part of the line.
  const signal = name === 'endless_line' ? lineIsOut.signal : new AbortController().signal
  const context = { sessionId: 's', resultBudgetChars: 1_000, signal }
  const [answer] = await registry.executeParallel([request], context)
  answers.push(answer?.result)
}

const peakMegabytes = peakKilobytes() / 1024
const tools = registry.size
if (given.includes('--exit')) {
  await servers.close()
  tell({ what: 'done', answers, tools, peakMegabytes })
} else {
  tell({ what: 'ready', answers, tools, peakMegabytes })
  setInterval(() => {}, 1_000_000)
}

/** The most that this process has used. A child begins with the maxRSS of its parent, so Linux is asked about this program alone. */
function peakKilobytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  if (kilobytes === undefined) throw new Error('/proc/self/status has no VmHWM')
  return Number(kilobytes)
}

function tell(said: object): void {
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
