import { describe, expect, it } from 'vitest'
import { launcherOf } from './launcher.ts'

describe('launcherOf', () => {
  it.each([
    ['npx', ['-y', 'server'], 'npx'],
    ['/usr/local/bin/npx', ['server'], 'npx'],
    ['C:\\Program Files\\nodejs\\NPX.CMD', ['server'], 'npx'],
    ['cmd', ['/c', 'npx', '-y', 'server'], 'npx'],
    ['C:\\Windows\\System32\\cmd.exe', ['/d', '/s', '/C', 'uvx.exe', 'server'], 'uvx'],
    ['npm', ['exec', '-y', '--', 'server'], 'npm exec'],
    ['npm', ['--silent', 'x', 'server'], 'npm exec'],
    ['pnpm', ['dlx', 'server'], 'pnpm dlx'],
    ['yarn', ['dlx', 'server'], 'yarn dlx'],
    ['bunx', ['server'], 'bunx'],
    ['bun', ['x', 'server'], 'bunx'],
    ['uvx', ['server'], 'uvx'],
    ['uv', ['--directory', '/srv/weather', 'run', 'weather.py'], 'uv run'],
    ['uv', ['tool', 'run', 'server'], 'uvx'],
    ['pipx', ['run', 'server'], 'pipx'],
    ['docker', ['run', '-i', '--rm', 'me/server'], 'docker'],
    ['docker', ['--context', 'far', 'run', 'me/server'], 'docker'],
    ['podman', ['container', 'run', 'me/server'], 'podman'],
  ])('recognises %s %j', (command, args, name) => {
    expect(launcherOf({ command, args })?.name).toBe(name)
  })

  it.each([
    ['node', ['npx', 'server.js']],
    ['/opt/npx/server', []],
    ['npm', ['run', 'exec']],
    ['npm', []],
    ['docker', ['compose', 'run', 'server']],
    ['docker', ['exec', '-i', 'server', 'run']],
    ['uv', ['tool', 'list']],
    ['cmd', ['/c', 'node', 'npx']],
    ['cmd', ['/c']],
    ['constructor', ['x']],
    [undefined, undefined],
  ])('recognises no launcher in %s %j', (command, args) => {
    expect(launcherOf({ ...(command && { command }), ...(args && { args }) })).toBeUndefined()
  })
})
