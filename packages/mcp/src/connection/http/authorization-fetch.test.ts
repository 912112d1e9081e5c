import { describe, expect, it } from 'vitest'
import { authorizationFetch } from './authorization-fetch.ts'

const ADDRESSES: Readonly<Record<string, string>> = {
  'api.example.com': '93.184.215.14',
  'auth.example.com': '93.184.215.15',
  'inner.example.com': '10.0.0.7',
  localhost: '127.0.0.1',
}

function reach(server: string) {
  const fetched: string[] = []
  const request = authorizationFetch({
    server: 'vault',
    url: new URL(server),
    // Follows redirects by itself unless it is told not to, as the platform's does.
    fetch: async function fetch(url, init): Promise<Response> {
      fetched.push(String(url))
      const location = new URL(url).searchParams.get('to')
      if (location === null) return new Response('{}')
      if (init?.redirect !== 'manual') return fetch(new URL(location, url), init)
      return new Response(null, { status: 302, headers: { location } })
    },
    signal: new AbortController().signal,
    lookup: async (host) => [{ address: ADDRESSES[host] ?? '93.184.215.16', family: 4 }],
  })
  return { fetched, request }
}

describe('the fetch of an authorization', () => {
  it.each([
    'http://10.0.0.7/token',
    'http://127.0.0.1:6379/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]/',
    'https://inner.example.com/.well-known/oauth-authorization-server',
    'http://localhost:7117/api/call',
  ])('does not reach %s for a server on the internet', async (target) => {
    const { fetched, request } = reach('https://api.example.com/mcp')
    await expect(request(target)).rejects.toThrow('private address')
    expect(fetched).toEqual([])
  })

  it('follows redirects of the server itself, but not to private addresses, nor with what is posted', async () => {
    const { fetched, request } = reach('https://api.example.com/mcp')
    const metadata = 'https://api.example.com/.well-known/oauth-protected-resource'
    await expect(request(`${metadata}?to=http://169.254.169.254/latest/`)).rejects.toThrow('private address')
    expect((await request(`${metadata}?to=/moved`)).status).toBe(200)
    const posted = await request(`${metadata}?to=http://10.0.0.7/`, { method: 'POST', body: 'code=1' })
    expect(posted.status).toBe(302)
    expect(fetched.map((url) => new URL(url).origin)).toEqual(Array(4).fill('https://api.example.com'))
  })

  it('does not count a server as private for one private address among others', async () => {
    const fetched: string[] = []
    const request = authorizationFetch({
      server: 'vault',
      url: new URL('https://evil.example/mcp'),
      fetch: async (url) => {
        fetched.push(String(url))
        return new Response('{}')
      },
      signal: new AbortController().signal,
      lookup: async () => ['93.184.215.14', '10.0.0.1'].map((address) => ({ address, family: 4 })),
    })
    await expect(request('http://127.0.0.1:80/latest')).rejects.toThrow('private address')
    expect(fetched).toEqual([])
  })

  it('reaches the origin of the server, whatever its address', async () => {
    for (const server of [
      'https://api.example.com/mcp',
      'http://localhost:3000/mcp',
      'http://10.0.0.7/mcp',
    ]) {
      const { fetched, request } = reach(server)
      const metadata = new URL('/.well-known/oauth-protected-resource', server)
      await request(metadata)
      expect(fetched).toEqual([metadata.href])
    }
  })

  it('reaches private addresses for a server that has one', async () => {
    const { fetched, request } = reach('http://localhost:3000/mcp')
    await request('http://127.0.0.1:4000/token')
    expect(fetched).toEqual(['http://127.0.0.1:4000/token'])
  })
})
