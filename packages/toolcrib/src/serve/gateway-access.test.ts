import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findConfig } from '@toolcrib/mcp'
import { expect, it, onTestFinished } from 'vitest'
import { fakeTerminal } from '../terminal/fake-terminal.fixture.ts'
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

it("the operator's token is another, which lasts in a file of the user's, also after a reload", async () => {
  const { access, found, terminal } = await choose('[profile.work]\n')
  const { token = '', file = '' } = access.operator ?? {}
  expect(token).not.toBe('token-of-the-user')
  const tokens = [
    { token: 'token-of-the-user', profile: 'work' },
    { token, name: 'operator', operator: true },
  ]
  expect(access.options().tokens).toEqual(tokens)
  expect((await access.reread(found, terminal)).tokens).toEqual(tokens)
  expect(readFileSync(file, 'utf8').trim()).toBe(token)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

it('a client may be called "page"', async () => {
  const { access } = await choose('[profile.work]\n[gateway.token.page]\ntoken = "token-of-a-client"\n')
  const named = access.options().tokens?.filter(({ name }) => name === 'page')
  expect(named).toEqual([expect.objectContaining({ token: 'token-of-a-client' })])
})
