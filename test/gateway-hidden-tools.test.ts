import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openGateway, rawRequest, serveTools, URL_OF_GATEWAY } from './gateway.fixture.ts'

const HELD = 'qqxxh'
const DENIED = 'qqxxd'
const MISSING = 'qqxxm'

describe.each(['prefixed', 'plain'] as const)('a tool that a client may not use, with %s names', (names) => {
  it.each(['lazy', 'full'] as const)('is answered like one that does not exist, in %s mode', async (mode) => {
    const { url } = await serveTools((server) => {
      for (const name of ['open', HELD, DENIED])
        server.registerTool(
          name,
          { inputSchema: z.object({}), annotations: { readOnlyHint: true } },
          async () => ({
            content: [{ type: 'text', text: 'it ran' }],
          }),
        )
    })
    const profiles = { narrow: { deny: [`mcp__one__${DENIED}`] } }
    const { gateway, registry } = await openGateway({ one: { url } }, { mode, names, profiles })
    registry.quarantine(`mcp__one__${HELD}`, 'it changed')
    const narrow = {
      fetch: (request: Request) => gateway.fetch(new Request(`${URL_OF_GATEWAY}/narrow`, request)),
    }
    const answersTo = async (tool: string) => {
      const answers: unknown[] = []
      for (const spelling of [`mcp__one__${tool}`, `one__${tool}`, `one.${tool}`, tool])
        for (const call of [
          { name: spelling, arguments: {} },
          { name: 'call_tool', arguments: { name: spelling, arguments: {} } },
          { name: 'call_read_tool', arguments: { name: spelling, arguments: {} } },
          { name: 'tool_search', arguments: { name: spelling } },
        ]) {
          const { status, answer } = await rawRequest(narrow, 'tools/call', call)
          answers.push([status, answer.result ?? answer.error])
        }
      return answers
    }
    const expected = await answersTo(MISSING)
    expect(JSON.stringify(expected)).not.toContain('it ran')
    for (const tool of [DENIED, HELD])
      expect(JSON.parse(JSON.stringify(await answersTo(tool)).replaceAll(tool, MISSING))).toEqual(expected)
    // The operator sees the reason.
    expect(registry.explain(`mcp__one__${HELD}`)).toMatchObject({
      state: 'quarantined',
      reason: 'it changed',
    })
  })
})
