import { describe, expect, it } from 'vitest'
import { CommandLine } from './command-line.ts'

const place = { home: '/home/ada', platform: 'linux', env: {}, cwd: '/home/ada' } as const
const door = {
  kind: 'stdio',
  command: '/usr/bin/node',
  args: ['/opt/my tools/main.js', 'serve', '--stdio', '--config', '/home/ada/toolcrib.toml'],
} as const

describe('a command on the page', () => {
  it('is what a person types, with the config file', () => {
    expect(new CommandLine({ ...place, door }, '/other.toml').of('lock')).toBe(
      'toolcrib lock --config /other.toml',
    )
    expect(new CommandLine({ ...place, door, program: 'npx toolcrib' }, '/other.toml').of('lock')).toBe(
      'npx toolcrib lock --config /other.toml',
    )
  })

  it('has the program that clients start where a program runs it', () => {
    const line = new CommandLine({ ...place, door }, undefined)
    expect(line.forPrograms('serve', '--stdio')).toBe(
      "/usr/bin/node '/opt/my tools/main.js' serve --stdio --config /home/ada/toolcrib.toml",
    )
    expect(line.of('lock')).toBe('toolcrib lock --config /home/ada/toolcrib.toml')
  })

  it('names toolcrib and the config file where clients send requests, or cannot be connected', () => {
    const http = { ...place, door: { kind: 'http', url: 'http://localhost/mcp' } } as const
    expect(new CommandLine(http, '/it.toml').of('lock')).toBe('toolcrib lock --config /it.toml')
    expect(new CommandLine(undefined, undefined).of('lock')).toBe('toolcrib lock')
  })

  it('quotes for the terminal of the platform', () => {
    const windows = { ...place, platform: 'win32', door: { ...door, args: ['serve'] } } as const
    expect(new CommandLine(windows, 'C:\\My tools\\t.toml').of('lock')).toBe(
      'toolcrib lock --config "C:\\My tools\\t.toml"',
    )
    expect(new CommandLine(undefined, "/it's.toml").of('lock')).toBe(
      `toolcrib lock --config '/it'\\''s.toml'`,
    )
  })
})
