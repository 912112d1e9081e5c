import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'

// The set-up starts servers, and counts tokens.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const { path, toolcrib, list, server, configure } = useCommandLine()
beforeEach(() => list(RAIN))

function put(file: string, content: object): string {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(content))
  return readFileSync(file, 'utf8')
}

describe('leaving toolcrib', () => {
  const cursor = () => path('home', '.cursor', 'mcp.json')
  const config = () => path('home', '.config', 'toolcrib')
  let before = ''
  beforeEach(async () => {
    const secret = { command: 'x', args: ['--api-key', 'k-1234567890abcdef'] }
    before = put(cursor(), { mcpServers: { weather: server(), secret } })
    await toolcrib('--yes')
  })

  it('says which copied secrets remain, and offers to remove them', async () => {
    const { stdout } = await toolcrib('disconnect', '--all')
    expect(stdout).toContain(
      `${config()}/toolcrib.toml still has 2 servers, with the secrets of secret; remove it with "toolcrib uninstall"`,
    )
    expect(readFileSync(cursor(), 'utf8')).toBe(before)
  })

  it('gives the programs their servers back, and removes every folder, once the user agrees', async () => {
    const asked = await toolcrib('uninstall')
    expect(asked.status).toBe(1)
    expect(asked.stdout).toContain(`gives Cursor its own servers back\nremoves ${config()}\n`)
    expect(asked.stdout).toContain('nothing was removed; use --yes to remove it')
    expect(existsSync(config())).toBe(true)
    expect((await toolcrib('uninstall', '--yes')).status).toBe(0)
    expect(readFileSync(cursor(), 'utf8')).toBe(before)
    for (const folder of ['.config', '.cache', '.local/state'])
      expect(existsSync(path('home', folder, 'toolcrib'))).toBe(false)
    expect((await toolcrib('uninstall', '--yes')).stdout).toContain('there is nothing to remove')
  })

  it('removes nothing while a program cannot get its servers back', async () => {
    const connected = readFileSync(cursor(), 'utf8')
    writeFileSync(cursor(), '{ broken')
    const { status, stderr } = await toolcrib('uninstall', '--yes')
    expect(status).toBe(2)
    expect(stderr).toMatch(/nothing was removed: .*cursor-.*\.before is the old config of a program/)
    writeFileSync(cursor(), connected)
    expect(existsSync(config())).toBe(true)
  })
})

describe('toolcrib unlock', () => {
  it('removes the lockfile, after a yes', async () => {
    configure({ weather: server() })
    expect((await toolcrib('unlock')).stdout).toContain('does not exist, so nothing is locked')
    await toolcrib('lock')
    expect(await toolcrib('unlock')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('use --yes'),
    })
    expect(existsSync(path('toolcrib.lock'))).toBe(true)
    expect((await toolcrib('unlock', '--yes')).status).toBe(0)
    expect(existsSync(path('toolcrib.lock'))).toBe(false)
    expect(existsSync(path('toolcrib.lock.gz'))).toBe(false)
    // Nothing is held back.
    list({ ...RAIN, description: 'Tells the rain of a city.' })
    const called = await toolcrib('call', 'weather.get_rain', 'city=Oslo')
    expect(called.stdout).toBe('get_rain ran\n')
    expect(called.stderr).not.toContain('was used before')
  })

  it('is the way out of the warning about a lockfile that is gone', async () => {
    configure({ weather: server() })
    await toolcrib('lock')
    await toolcrib('list')
    rmSync(path('toolcrib.lock'))
    expect((await toolcrib('list')).stderr).toContain('was used before and is missing')
    await toolcrib('unlock')
    expect((await toolcrib('list')).stderr).not.toContain('was used before')
  })
})

describe('toolcrib add', () => {
  it('takes the flags of a server without --, and refuses those before its program', async () => {
    expect((await toolcrib('add', 'fs2', 'npx', '-y', 'some-server', '.')).status).toBe(0)
    expect(readFileSync(path('toolcrib.toml'), 'utf8')).toBe(
      '[server.fs2]\ncommand = "npx"\nargs = [ "-y", "some-server", "." ]\n',
    )
    expect(await toolcrib('add', 'x', '--hedaer', 'A=b')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("unknown option '--hedaer'; what belongs to the server comes after --"),
    })
  })
})

describe('toolcrib completion', () => {
  it('completes commands and flags in bash', async () => {
    const { stdout } = await toolcrib('completion', 'bash')
    const complete = (line: string) =>
      execFileSync('bash', [
        '-c',
        `${stdout}\nCOMP_WORDS=(${line} "$0")\nCOMP_CWORD=$((\${#COMP_WORDS[@]}-1))\n_toolcrib\necho "\${COMPREPLY[@]}"`,
        line === 'toolcrib' ? 'se' : '--dry',
      ])
        .toString()
        .trim()
    expect(complete('toolcrib')).toBe('setup serve search')
    expect(complete('toolcrib connect')).toBe('--dry-run')
  })

  it('prints a script for each shell, which that shell can read if it is here', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { stdout } = await toolcrib('completion', shell)
      expect(stdout).toContain('connect')
      const { error, status } = spawnSync(shell, ['-n'], { input: stdout })
      if (!error) expect(status).toBe(0)
    }
    expect((await toolcrib('completion', 'cmd')).status).toBe(2)
  })
})
