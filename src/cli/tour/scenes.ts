import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ToolRegistry } from 'toolcrib'
import { connectServers } from 'toolcrib/mcp'
import { demoCatalogue } from './demo-catalogue.ts'

/** What a tour walks through: tools, and what a model would do with them. */
export interface Scene {
  readonly kind: 'servers' | 'demo'
  readonly intro: string
  readonly servers: readonly string[]
  readonly query: string
  readonly calls: readonly { readonly name: string; readonly args: Readonly<Record<string, unknown>> }[]
  /** A later query that causes an eviction. */
  readonly laterQuery: string
  close(): Promise<void>
}

/**
 * Opens the reference servers of MCP if they are installed, as in a clone of the repository; otherwise a made-up
 * catalogue. They are resolved from the module `from`, by default this file.
 */
export async function openScene(registry: ToolRegistry, { from = import.meta.url } = {}): Promise<Scene> {
  return (await openServers(registry, from)) ?? openDemo(registry)
}

/** The config of the tour; its variables are set below. */
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: variables of a config, not of this file
const TOUR_CONFIG = {
  mcpServers: {
    everything: { command: '${NODE}', args: ['${SERVER_EVERYTHING}'] },
    files: { command: '${NODE}', args: ['${SERVER_FILESYSTEM}', '${FOLDER}'] },
    memory: {
      command: '${NODE}',
      args: ['${SERVER_MEMORY}'],
      env: { MEMORY_FILE_PATH: '${FOLDER}/memory.jsonl' },
    },
    thinking: { command: '${NODE}', args: ['${SERVER_SEQUENTIAL_THINKING}'] },
  },
}
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: variables of a config, not of this file

const PACKAGES = ['everything', 'filesystem', 'memory', 'sequential-thinking'] as const

async function openServers(registry: ToolRegistry, from: string): Promise<Scene | undefined> {
  const scripts = findScripts(from)
  if (!scripts) return undefined
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'toolcrib-tour-')))
  const note = join(folder, 'opening-hours.txt')
  await writeFile(note, 'The tool crib is open from seven to five.\nBring back what you borrowed.\n')
  const env = { ...process.env, ...scripts, NODE: process.execPath, FOLDER: folder }
  const servers = connectServers(registry, TOUR_CONFIG, { env })
  const close = async () => {
    await servers.close()
    await rm(folder, { recursive: true, force: true })
  }
  const statuses = await servers.ready()
  if (statuses.some(({ state }) => state !== 'ready')) {
    await close()
    return undefined
  }
  return {
    kind: 'servers',
    intro: 'The reference servers of MCP, each its own process over stdio',
    servers: statuses.map(({ server }) => server),
    query: 'read a text file',
    calls: [
      { name: 'mcp__files__read_text_file', args: { path: note } },
      { name: 'mcp__everything__get-sum', args: { a: 1958, b: 68 } },
    ],
    laterQuery: 'add observations to the knowledge graph',
    close,
  }
}

/** The servers' scripts as variables; undefined when a package is not installed. */
function findScripts(from: string): Record<string, string> | undefined {
  const require = createRequire(from)
  try {
    return Object.fromEntries(
      PACKAGES.map((name) => {
        const manifest = require.resolve(`@modelcontextprotocol/server-${name}/package.json`)
        const { bin }: { bin: Record<string, string> } = require(manifest)
        const script = join(dirname(manifest), Object.values(bin)[0] ?? '')
        return [`SERVER_${name.replaceAll('-', '_').toUpperCase()}`, script]
      }),
    )
  } catch {
    return undefined
  }
}

function openDemo(registry: ToolRegistry): Scene {
  const catalogue = demoCatalogue()
  for (const [server, tools] of catalogue) registry.syncMcp(server, tools)
  return {
    kind: 'demo',
    intro: 'A made-up catalogue, since the reference servers of MCP are not installed here',
    servers: [...catalogue.keys()],
    query: 'create a refund',
    calls: [{ name: 'mcp__billing__create_refund', args: { name: 'Order 1042, damaged on arrival' } }],
    laterQuery: 'book a hotel',
    close: async () => {},
  }
}
