import { expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'

const tool = (name: string) => ({
  name,
  description: name,
  inputSchema: { type: 'object' as const },
  execute: () => 'done',
})

async function describeSearch(servers: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const registry = new ToolRegistry({ mode: 'lazy' })
  for (const [server, names] of Object.entries(servers)) registry.syncMcp(server, names.map(tool))
  const { tools } = (await registry.openSession()).surface()
  return tools.find(({ name }) => name === 'tool_search')?.description ?? ''
}

it('names what is typical of a server, not what comes first in the alphabet', async () => {
  const names = ['abort', 'create_issue', 'list_issues', 'create_comment', 'zap']
  const servers = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`tracker${at}`, names]))
  expect(await describeSearch(servers)).toContain('- tracker0 (5): create_comment, list_issues, ')
  expect(await describeSearch(servers)).not.toMatch(/abort|zap/)
})

it('names a tool of every server, also of the last of many', async () => {
  const servers = Object.fromEntries(
    Array.from({ length: 45 }, (_, at) => [
      `server${at + 10}`,
      ['create_issue', 'list_issues', 'close_issue'],
    ]),
  )
  const description = await describeSearch(servers)
  expect(description.match(/^- server\d+ \(3\): \w+/gm)).toHaveLength(45)
})
