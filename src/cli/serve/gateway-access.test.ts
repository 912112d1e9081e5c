import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findConfig } from 'toolcrib/mcp'
import { expect, it, onTestFinished } from 'vitest'
import { fakeTerminal } from '../fake-terminal.fixture.ts'
import { GatewayAccess } from './gateway-access.ts'

async function choose(config: string) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-access-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'toolcrib.toml')
  writeFileSync(path, config)
  const env = { HOME: folder }
  const found = await findConfig({ path, cwd: folder, env })
  const { terminal } = fakeTerminal({ env, cwd: folder })
  const flags = { host: '127.0.0.1', token: 'token-of-the-user', profile: 'work' }
  return { access: await GatewayAccess.choose(flags, found, terminal), found, terminal }
}

it('the gateway does not know the token of the page, also after a reload', async () => {
  const { access, found, terminal } = await choose('[profile.work]\n')
  const own = [{ token: 'token-of-the-user', profile: 'work' }]
  // With a second token, the only user would no longer have the memory of the registry.
  expect(access.options().tokens).toEqual(own)
  expect((await access.reread(found, terminal)).tokens).toEqual(own)
  expect(access.pageToken?.token).not.toBe('token-of-the-user')
})

it('a client may be called "page"', async () => {
  const { access } = await choose('[profile.work]\n[gateway.token.page]\ntoken = "token-of-a-client"\n')
  const named = access.options().tokens?.filter(({ name }) => name === 'page')
  expect(named).toEqual([expect.objectContaining({ token: 'token-of-a-client' })])
})
