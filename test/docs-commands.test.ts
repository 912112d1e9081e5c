import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { type Block, readPages } from '../scripts/docs/pages.ts'
import { RAIN, useCommandLine } from './cli-folder.fixture.ts'

const { path, toolcrib, write, list, server } = useCommandLine()

/** Commands that neither ask somebody nor need what this folder lacks: a network, a key, a gateway that runs. */
const RUN = /^(list|search|stats|doctor|call|lock|diff|eval|add|remove|enable|disable|import)$/
/** Exit code 1 says that there are changes or problems. */
const MAY_FAIL = /^(diff|doctor)$/
/** Each of these says the same on every page. */
const ran = new Set<string>()

const pages = readPages()
  .map(({ path, blocks }) => ({ path, commands: blocks.flatMap(commandsOf) }))
  .filter(({ commands }) => commands.length > 0)

describe('the commands of', () => {
  it.each(pages)('$path exist, with their flags', async ({ commands }) => {
    for (const { place, args } of commands) {
      const [command = ''] = args
      if (command === '' || command.startsWith('-')) continue
      const { status, stdout } = await toolcrib(command, '--help')
      const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
      const unknown = own.filter((word) => /^--\w/.test(word) && !stdout.includes(word.replace(/=.*/, '')))
      expect({ place, status, unknown }).toEqual({ place, status: 0, unknown: [] })
    }
  })

  it.each(pages)(
    '$path run',
    async ({ commands }) => {
      prepareFolder()
      let block = ''
      for (const { place, block: own, args } of commands) {
        const [name = ''] = args
        if (!RUN.test(name) || (/^(list|search|stats|eval|doctor)$/.test(name) && ran.has(args.join(' '))))
          continue
        ran.add(args.join(' '))
        // What one block changes is not there for the next.
        if (own !== block) {
          rmSync(path('home', '.config'), { recursive: true, force: true })
          write('toolcrib.toml', config())
        }
        block = own
        const { status, stdout, stderr } = await toolcrib(...args)
        const isFine = status === 0 || (status === 1 && MAY_FAIL.test(name))
        expect({ place, said: isFine ? '' : `${stdout}${stderr}` }).toEqual({ place, said: '' })
      }
    },
    120_000,
  )
})

/** A project and a home with the files and programs that the pages speak of. */
function prepareFolder(): void {
  list(RAIN)
  write('README.md', 'a page\n')
  write('tools.jsonl', `${JSON.stringify({ id: 'rain', ...RAIN })}\n`)
  write('queries.jsonl', `${JSON.stringify({ id: 'q1', query: 'how much rain fell', relevant: ['rain'] })}\n`)
  for (const client of ['.cursor', '.codex']) mkdirSync(path('home', client))
  const mcpServers = { tickets: { url: 'https://tickets.example.com/mcp' } }
  write(join('home', '.cursor', 'mcp.json'), JSON.stringify({ mcpServers }))
  write(join('home', '.codex', 'config.toml'), '[mcp_servers.wiki]\nurl = "https://wiki.example.com/mcp"\n')
}

function config(): string {
  const bundled = (name: string) => join(inject('servers'), name)
  const servers = {
    files: { command: process.execPath, args: [bundled('filesystem.js'), '.'] },
    notes: { command: process.execPath, args: [bundled('memory.js')] },
    weather: server(),
  }
  return Object.entries(servers)
    .map(([name, { command, args }]) => {
      const words = args.map((word) => JSON.stringify(word)).join(', ')
      return `[server.${name}]\ncommand = ${JSON.stringify(command)}\nargs = [${words}]\n`
    })
    .join('')
}

interface Command {
  readonly place: string
  /** The block that it is in. */
  readonly block: string
  readonly args: readonly string[]
}

/** What a block for a shell asks of `toolcrib`, up to a pipe or a redirection. */
function commandsOf({ page, line, language, code }: Block): readonly Command[] {
  if (language !== 'sh') return []
  return code.split('\n').flatMap((text, index) => {
    const [, command] =
      /(?:^|[|;&] *)(?:toolcrib|node dist\/cli\/main\.js)(?: +(.*))?$/.exec(text.trim()) ?? []
    if (command === undefined) return []
    return [{ place: `${page}:${line + index}`, block: `${page}:${line}`, args: wordsOf(command) }]
  })
}

/** Splits a command line at its spaces outside quotes; ends at a comment, a pipe or a redirection. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = []
  for (const [, single, double, plain = ''] of text.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)) {
    if (single === undefined && double === undefined && /^(#|[|>&])/.test(plain)) break
    words.push(single ?? double ?? plain)
  }
  // In a clone, the README names the config of an example; here the folder has one of its own.
  const named = words.indexOf('examples/gateway/toolcrib.toml')
  return named === -1 ? words : words.toSpliced(named - 1, 2)
}
