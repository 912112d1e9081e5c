import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../../tool-registry.ts'
import type { Model } from '../model.ts'
import { runAgent } from '../run-agent.ts'
import { anthropicModel } from './anthropic.ts'
import { minimaxModel } from './minimax.ts'
import { openaiChatModel } from './openai-chat.ts'
import { sdkLoader } from './sdk.ts'

const missing = (name: string) =>
  Object.assign(new Error(`Cannot find package '${name}' imported from /here.js`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })

describe('an SDK that is loaded on first use', () => {
  it('is named when it is not there, with the command that installs it', async () => {
    const load = sdkLoader('some-sdk', async () => {
      throw missing('some-sdk')
    })
    await expect(load()).rejects.toMatchObject({
      code: 'config-invalid',
      message: expect.stringContaining('npm install some-sdk'),
    })
  })

  it('fails with its own words otherwise, and is tried again', async () => {
    let times = 0
    const load = sdkLoader('some-sdk', async () => {
      if (++times === 1) throw missing('a-part-of-it')
      return 'client'
    })
    await expect(load()).rejects.toThrow('a-part-of-it')
    expect(await load()).toBe('client')
    expect(await load()).toBe('client')
    expect(times).toBe(2)
  })
})

describe('a provider that cannot be reached', () => {
  const models: readonly Model[] = [
    anthropicModel({ model: 'm', apiKey: 'k', baseURL: 'http://127.0.0.1:9' }),
    openaiChatModel({ model: 'm', baseURL: 'http://127.0.0.1:9/v1' }),
  ]

  it.each(models)('is tried again, then told', async (model) => {
    const session = await new ToolRegistry().openSession()
    const slept: number[] = []
    const timing = {
      now: () => 0,
      random: () => 1,
      sleep: async (delayMs: number) => void slept.push(delayMs),
    }
    const result = await runAgent({ model, session, messages: 'Hi', timing, retry: { maxRetries: 2 } })
    expect(result.stop).toBe('failed')
    expect(slept).toEqual([1000, 2000])
  })
})

describe('keys', () => {
  /** The headers of each request that a model sends to a server that listens to nothing else. */
  async function sentBy(makeModel: (baseURL: string) => Model) {
    const { createServer } = await import('node:http')
    const headers: object[] = []
    const server = createServer((request, response) => {
      headers.push(request.headers)
      response.writeHead(400).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const model = makeModel(`http://127.0.0.1:${port}`)
    await runAgent({ model, session: await new ToolRegistry().openSession(), messages: 'Hi' })
    await new Promise((resolve) => server.close(resolve))
    return headers
  }

  it('of one provider, in the environment, are not sent to another', async () => {
    const kept = { ...process.env }
    Object.assign(process.env, {
      OPENAI_API_KEY: 'sk-secret',
      ANTHROPIC_AUTH_TOKEN: 'token-secret',
      ANTHROPIC_API_KEY: 'key-secret',
    })
    try {
      for (const makeModel of [openaiChatModel, minimaxModel]) {
        const sent = await sentBy((baseURL) => makeModel({ model: 'm', baseURL }))
        expect(sent).toEqual([expect.objectContaining({ 'content-type': 'application/json' })])
        expect(JSON.stringify(sent)).not.toContain('secret')
      }
      // The key that it was given is sent, so a key would have been seen.
      const given = await sentBy((baseURL) => openaiChatModel({ model: 'm', baseURL, apiKey: 'given' }))
      expect(given).toEqual([expect.objectContaining({ authorization: 'Bearer given' })])
    } finally {
      for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']) {
        if (kept[name] === undefined) delete process.env[name]
        else process.env[name] = kept[name]
      }
    }
  })
})
