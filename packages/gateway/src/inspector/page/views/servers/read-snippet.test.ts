import { describe, expect, it } from 'vitest'
import { readSnippet, registryName } from './read-snippet.ts'

describe('a snippet of a README', () => {
  it.each([
    [
      '{"mcpServers": {"memory": {"command": "npx", "args": ["-y", "server-memory", "a b"]}}}',
      "npx -y server-memory 'a b'",
    ],
    ['{"servers": {"memory": {"command": "uvx", "args": ["mem"]}}}', 'uvx mem'],
    ['"memory": {"command": "docker"},', 'docker'],
  ])('has a program: %s', (text, command) => {
    expect(readSnippet(text)).toEqual({ name: 'memory', url: '', header: '', command, env: '' })
  })

  it('has an address, with a header', () => {
    const server = { url: 'https://docs.example/mcp', headers: { Authorization: 'Bearer 1' } }
    const found = { name: 'docs', url: server.url, header: 'Authorization: Bearer 1', command: '', env: '' }
    expect(readSnippet(JSON.stringify({ mcpServers: { docs: server } }))).toEqual(found)
    expect(readSnippet(JSON.stringify(server))).toEqual({ ...found, name: '' })
  })

  it('has variables, quoted for a shell', () => {
    const server = { command: 'npx', args: ['-y', 'x'], env: { KEY: '<your key>', MODE: 'fast' } }
    expect(readSnippet(JSON.stringify({ mcpServers: { x: server } }))?.env).toBe(
      "--env 'KEY=<your key>' --env MODE=fast ",
    )
  })

  it.each(['https://docs.example/mcp', '{', '{}', '{"a": 1}', '{"a": null}', 'npx x', ''])(
    'is not %s',
    (text) => {
      expect(readSnippet(text)).toBeUndefined()
    },
  )
})

describe('a name in a registry', () => {
  it('is told from an address of a server and a command', () => {
    expect(registryName(' io.github.owner/server ')).toBe('io.github.owner/server')
    const address = 'https://registry.example.com/v0.1/servers/io.github.owner%2Fserver'
    expect(registryName(address)).toBe(address)
    for (const other of ['https://example.com/mcp', 'npx -y some-server', 'github', ''])
      expect(registryName(other)).toBeUndefined()
  })
})
