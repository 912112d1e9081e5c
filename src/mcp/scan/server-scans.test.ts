import { describe, expect, it } from 'vitest'
import type { Finding } from '../../finding.ts'
import type { ServerTool } from '../server/server-tool.ts'
import { ServerScans } from './server-scans.ts'

const DESCRIPTION = 'Reads a file from the disk of this machine.'

const tool = (name: string, description = DESCRIPTION): ServerTool => ({
  name,
  description,
  inputSchema: { type: 'object' },
})

/** Scans with timers that fire when told to, and the findings that were reported. */
function scans() {
  const pending: (() => void)[] = []
  const reported: string[] = []
  const all = new ServerScans((_ms, fire) => {
    pending.push(fire)
    return () => void pending.splice(pending.indexOf(fire), 1)
  })
  const see = (server: string, tools: readonly ServerTool[], known?: readonly Finding[]) => {
    const report = ({ kind, tool }: Finding) => void reported.push(`${server}: ${kind} ${tool}`)
    all.see({ server, tools, known, report })
  }
  return { all, see, reported, pending, fire: () => pending.shift()?.() }
}

describe('ServerScans', () => {
  it('compares tools that were scanned before one server at a time, in the order they were seen', () => {
    const { see, reported, pending, fire } = scans()
    for (const server of ['first', 'second', 'third']) see(server, [tool('read_file')], [])
    expect([reported, pending.length]).toEqual([[], 1])
    fire()
    fire()
    expect(reported).toEqual(['second: clone read_file'])
    fire()
    expect([reported.length, pending.length]).toEqual([2, 0])
  })

  it('has compared everything when somebody asks for the findings', () => {
    const { all, see, reported, pending } = scans()
    see('first', [tool('read_file')], [])
    see('second', [tool('read_file')], [])
    expect(all.findings()).toMatchObject([{ kind: 'clone', server: 'second' }])
    expect(all.findings()).toHaveLength(1)
    expect([reported, pending.length]).toEqual([['second: clone read_file'], 0])
  })

  it('scans new tools at once, and compares them with those that still wait', () => {
    const { see, reported } = scans()
    see('first', [tool('read_file')], [])
    see('second', [tool('read_file')])
    expect(reported).toEqual(['second: clone read_file'])
  })

  it('remembers what was found before, also while the tools wait', () => {
    const { all, see, reported, fire } = scans()
    const known = [{ kind: 'secrecy', severity: 'high', server: 'first', tool: 'a', place: 'description' }]
    const findings = known.map((each) => ({ ...each, message: 'm', excerpt: 'e' }) as Finding)
    see('first', [tool('a')], findings)
    expect(all.ownFindings('first')).toEqual(findings)
    fire()
    expect([all.ownFindings('first'), reported]).toEqual([findings, ['first: secrecy a']])
  })

  it('leaves no timer when all servers are forgotten, and compares with none of them', () => {
    const { all, see, reported, pending } = scans()
    see('first', [tool('read_file')], [])
    see('second', [tool('read_file')], [])
    all.forget('first')
    expect(pending).toHaveLength(1)
    all.forget('second')
    expect([all.findings(), reported, pending]).toEqual([[], [], []])
  })
})
