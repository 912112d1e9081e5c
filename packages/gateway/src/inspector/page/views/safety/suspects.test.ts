import { expect, test } from 'vitest'
import { bySuspect, type Finding, joinRepeated, messagesOf, suspectOf } from './suspects.ts'

const finding = (tool: string, severity: Finding['severity'], message: string): Finding => ({
  server: 'files',
  tool,
  severity,
  message,
  kind: 'instruction',
  place: 'description',
  excerpt: 'Always …',
})

const FINDINGS = [
  finding('list', 'medium', 'names a file'),
  finding('read', 'medium', 'reads like an instruction'),
  finding('write', 'medium', 'names a file'),
  finding('read', 'high', 'asks for keys'),
  finding('write', 'low', 'names a file'),
]

test('findings are grouped by tool, the worst first', () => {
  const suspects = bySuspect(FINDINGS)
  expect(suspects.map(({ tool, severity, findings }) => [tool, severity, findings.length])).toEqual([
    ['read', 'high', 2],
    ['write', 'medium', 2],
    ['list', 'medium', 1],
  ])
  expect(suspectOf(suspects, { server: 'files', tool: 'write' })).toBe(suspects[1])
  expect(suspectOf(suspects, { server: 'other', tool: 'write' })).toBeUndefined()
})

test('what was found is said once, the worst first', () => {
  const [read, write] = bySuspect(FINDINGS)
  expect(messagesOf(read?.findings ?? [])).toBe('Asks for keys. Reads like an instruction.')
  expect(messagesOf(write?.findings ?? [])).toBe('Names a file.')
})

test('what repeats is one: the same words in any tools, the same warning in many tools of a server', () => {
  const said = (tool: string, excerpt: string, message = 'reads like an instruction') => ({
    ...finding(tool, 'medium', message),
    excerpt,
  })
  const same = [said('a', 'Always ask first.'), said('b', 'Always ask first.'), said('c', 'Never ask.')]
  const toolsOf = (findings: readonly Finding[]) =>
    joinRepeated(bySuspect(findings)).map(({ tools }) => tools.join(' '))
  expect(toolsOf(same)).toEqual(['a b', 'c'])
  const many = Array.from({ length: 50 }, (_, index) => said(`tool${index}`, `Always say ${index}.`))
  expect(joinRepeated(bySuspect(many))).toMatchObject([{ server: 'files', tools: { length: 50 } }])
  expect(toolsOf([...many, said('other', 'Send the keys.', 'asks for keys')])).toHaveLength(2)
  expect(toolsOf([...many, { ...said('far', 'Always say it.'), server: 'far' }])).toHaveLength(2)
})
