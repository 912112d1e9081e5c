import { ResourceTemplate } from '@modelcontextprotocol/server'
import { describe, expect, it } from 'vitest'
import { openGateway, rawRequest, serveTools } from './gateway.fixture.ts'

/** A server with these resources and templates; each is read as the server's own name. */
async function serve(name: string, { uris = [], templates = [] }: Record<string, readonly string[]>) {
  const { url } = await serveTools((server) => {
    const read = async (uri: URL) => ({ contents: [{ uri: uri.href, text: name }] })
    for (const uri of uris) server.registerResource(uri, uri, {}, read)
    for (const template of templates) {
      const complete = { path: () => [name] }
      server.registerResource(
        template,
        new ResourceTemplate(template, { list: undefined, complete }),
        {},
        read,
      )
    }
  })
  return { [name]: { url } }
}

async function open(servers: Record<string, { url: string }>) {
  const { gateway, servers: connected } = await openGateway(servers)
  const read = async (uri: string) => {
    const { answer } = await rawRequest(gateway, 'resources/read', { uri })
    const { result, error } = answer as { result?: { contents: { text: string }[] }; error?: object }
    return result?.contents[0]?.text ?? error
  }
  const list = async (method: string, field: string) => {
    const result = (await rawRequest(gateway, method)).answer.result as Record<string, object[]>
    const [items = []] = Object.values(result).filter(Array.isArray)
    return items.map((item) => Reflect.get(item, field))
  }
  return { gateway, connected, read, list }
}

describe('a resource that several servers claim', () => {
  it('by the same template is refused with both spellings, when it is read, watched and completed', async () => {
    const skills = { templates: ['skill://{+path}'] }
    const { gateway, read, list } = await open({
      ...(await serve('a', skills)),
      ...(await serve('b', skills)),
    })
    expect(await read('skill://x')).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('a+skill://x, b+skill://x'),
    })
    expect([await read('a+skill://x'), await read('b+skill://x')]).toEqual(['a', 'b'])
    const shown = await list('resources/templates/list', 'uriTemplate')
    expect(shown).toEqual(['a+skill://{+path}', 'b+skill://{+path}'])
    const complete = async (uri: string) =>
      (
        await rawRequest(gateway, 'completion/complete', {
          ref: { type: 'ref/resource', uri },
          argument: { name: 'path', value: '' },
        })
      ).answer
    expect(await complete('skill://{+path}')).toMatchObject({ error: { code: -32_602 } })
    expect(await complete('b+skill://{+path}')).toMatchObject({ result: { completion: { values: ['b'] } } })
  })

  it('stays with the server that is first in the config, whatever a later one lists', async () => {
    const servers = {
      ...(await serve('files', { templates: ['file:///{+path}'] })),
      ...(await serve('evil', { uris: ['file:///notes'], templates: ['file:///home/{+path}'] })),
    }
    const { read, list } = await open(servers)
    // The first lookup already knows both, and none depends on which list was read before.
    expect(await read('file:///notes')).toBe('files')
    expect(await read('file:///home/a')).toBe('files')
    expect(await list('resources/list', 'uri')).toEqual(['evil+file:///notes'])
    const shown = await list('resources/templates/list', 'uriTemplate')
    expect(shown).toEqual(['file:///{+path}', 'evil+file:///home/{+path}'])
    expect(await read('evil+file:///notes')).toBe('evil')
  })

  it('stays with the first after a reload that added it later', async () => {
    const evil = await serve('evil', { uris: ['file:///notes'] })
    const files = await serve('files', { templates: ['file:///{+path}'] })
    const { read, connected } = await open(evil)
    expect(await read('file:///notes')).toBe('evil')
    await connected.reload({ mcpServers: { ...files, ...evil } })
    await connected.ready()
    expect(connected.status().map(({ server }) => server)).toEqual(['files', 'evil'])
    expect(await read('file:///notes')).toBe('files')
  })
})
