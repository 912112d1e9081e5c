import { describe, expect, it } from 'vitest'
import { connectClient, openGateway } from './gateway.fixture.ts'
import { script } from './mcp/reference-servers.fixture.ts'

const FIXTURE = new URL('./fixtures/hiding-server.mjs', import.meta.url).pathname
const ERAS = ['modern', 'legacy'] as const
const EVERYTHING = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} }

describe.each(ERAS)('a %s client', (era) => {
  describe.each(ERAS)('of a %s server', (serverEra) => {
    async function connect({ config = {}, capabilities = EVERYTHING as object } = {}) {
      const github = { ...script(FIXTURE, serverEra), ...config }
      const { gateway } = await openGateway({ github }, { mode: 'full', askingServers: ['github'] })
      const client = await connectClient(gateway, { era, capabilities })
      const asked: Record<string, unknown>[] = []
      if ('elicitation' in capabilities)
        client.setRequestHandler('elicitation/create', async ({ params }) => {
          asked.push(params)
          return { action: 'accept', content: { name: 'ada' } }
        })
      if ('sampling' in capabilities)
        client.setRequestHandler('sampling/createMessage', async ({ params }) => {
          asked.push(params)
          return { model: 'm', role: 'assistant', content: { type: 'text', text: 'yes' } }
        })
      const call = (name: string) =>
        client.callTool({ name: `github__${name}`, arguments: {} }).then(
          ({ content }) => JSON.stringify(content),
          (error: Error) => `${Reflect.get(error, 'code')}: ${error.message}`,
        )
      return { call, asked, gateway }
    }

    it('is told which server asks, and gives none of them the context of others', async () => {
      const { call, asked } = await connect()
      expect(await call('elicit')).toContain('ada')
      await call('visit')
      expect(await call('sample')).toContain('yes')
      expect(asked).toMatchObject([
        { message: '[github] shown question[31m' },
        { message: '[github] shown visit[31m', url: 'https://example.com/' },
        {
          messages: [{ role: 'user', content: { text: '[github] shown sampling[31m' } }],
          systemPrompt: 'Be brief.[31m',
        },
      ])
      expect(asked[2]).not.toHaveProperty('includeContext')
    })

    it('is never asked by a server with asks = false', async () => {
      const { call, asked, gateway } = await connect({ config: { asks: false } })
      const refusal = serverEra === 'modern' ? 'asks = false' : 'Method not found'
      for (const name of ['elicit', 'visit', 'sample', 'roots']) expect(await call(name)).toContain(refusal)
      expect(asked).toEqual([])
      expect(gateway.status().callsParked).toBe(0)
    })

    it('is not asked to fill in a form if it can only visit pages', async () => {
      const { call, asked } = await connect({ capabilities: { elicitation: { url: {} } } })
      const refusal = await call('elicit')
      expect(refusal).toContain(era === 'modern' ? '-32021' : 'does not support')
      await call('visit')
      expect(asked).toMatchObject([{ mode: 'url' }])
    })

    it('is not asked to visit a page if it can only fill in forms', async () => {
      const { call, asked } = await connect({ capabilities: { elicitation: {} } })
      expect(await call('visit')).not.toContain('accept')
      expect(await call('elicit')).toContain('ada')
      expect(asked).toHaveLength(1)
    })
  })
})
