import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** The inspector needs a newer Node.js than toolcrib does. */
const PACKAGES = ['@modelcontextprotocol/inspector@2', 'node@22']
const FOLDER = join(import.meta.dirname, '..', '..', '.bench', 'inspector')

const SEARCH = ['tools/call', '--tool-name', 'tool_search', '--tool-arg', 'query=simple text']
const CALL = [
  'tools/call',
  '--tool-name',
  'call_tool',
  '--tool-arg',
  'name=test_simple_text',
  '--tool-arg',
  'arguments={}',
]

/**
 * The command line of the MCP inspector as a client of a gateway before the conformance server: it lists, searches and
 * calls. Returns what went wrong.
 */
export async function testInspector(url: string, home: string): Promise<string[]> {
  const inspect = await installInspector(home)
  const expected: readonly (readonly [args: readonly string[], words: string])[] = [
    [['tools/list'], '"tool_search"'],
    [SEARCH, 'test_simple_text'],
    [CALL, 'This is a simple text response for testing.'],
  ]
  const faults: string[] = []
  for (const [args, words] of expected) {
    const output = await inspect(['--cli', url, '--method', ...args])
    if (!output.includes(words)) faults.push(`inspector ${args.join(' ')}: ${output.slice(0, 500)}`)
  }
  return faults
}

async function installInspector(home: string): Promise<(args: readonly string[]) => Promise<string>> {
  const bin = join(FOLDER, 'node_modules', '.bin')
  if (!existsSync(join(bin, 'mcp-inspector'))) {
    console.log(`installing ${PACKAGES.join(' and ')} into .bench/inspector …`)
    await mkdir(FOLDER, { recursive: true })
    await writeFile(join(FOLDER, 'package.json'), '{ "private": true }\n')
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', ...PACKAGES], { cwd: FOLDER })
  }
  // It keeps a catalogue in the home folder.
  const env = { ...process.env, HOME: home, PATH: `${bin}${delimiter}${process.env.PATH}` }
  return async (args) => {
    const run = promisify(execFile)(join(bin, 'mcp-inspector'), [...args], { env })
    const { stdout, stderr } = await run.catch((error: { stdout?: string; stderr?: string }) => error)
    return `${stdout ?? ''}${stderr ?? ''}`
  }
}
