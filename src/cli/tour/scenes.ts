import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { hybrid, type RegistryOptions, ToolRegistry, type ToolSchema } from 'toolcrib'
import { staticEmbedder } from 'toolcrib/embedders'
import {
  connectServers,
  type FindOptions,
  findConfig,
  type OpenedRegistry,
  openFromConfig,
  type Schedule,
} from 'toolcrib/mcp'
import { enoughServers } from '../enough-servers.ts'
import { demoCatalogue } from './demo-catalogue.ts'

/** What a tour shows: tools, and what a model would do with them. */
export interface Scene {
  readonly kind: 'own' | 'servers' | 'demo'
  readonly registry: ToolRegistry
  readonly intro: string
  readonly servers: readonly string[]
  readonly query: string
  readonly calls: readonly { readonly name: string; readonly args: Readonly<Record<string, unknown>> }[]
  /** A later query that causes an eviction. */
  readonly laterQuery: string
  close(): Promise<void>
}

/** Where a tour looks for servers. */
export interface ScenePlace extends Pick<FindOptions, 'cwd' | 'env'> {
  readonly schedule: Schedule
  /** The module from which the reference servers are resolved. Default: this file. */
  readonly from?: string
}

/**
 * Opens the user's own servers, if there are enough tools; else the reference servers of MCP if they are installed, as
 * in a clone of the repository; otherwise a made-up catalogue.
 */
export async function openScene(options: RegistryOptions, place: ScenePlace): Promise<Scene> {
  const { from = import.meta.url, cwd = process.cwd(), env = process.env } = place
  const own = await openOwn(options, { cwd, env, schedule: place.schedule })
  if (own) return own
  // The searcher of `search` and the gateway, as with a config that names none.
  const registry = new ToolRegistry({ searcher: hybrid({ embedder: staticEmbedder() }), ...options })
  return (await openServers(registry, from)) ?? openDemo(registry)
}

/** Fewer tools need no search. */
const MIN_TOOLS = 12
const WAIT_MS = 10_000

/** A call may have effects, so a tour calls none of the user's own tools. */
async function openOwn(
  options: RegistryOptions,
  { schedule, ...place }: Required<Omit<ScenePlace, 'from'>>,
): Promise<Scene | undefined> {
  const found = await findConfig({ ...place, optional: true }).catch(() => undefined)
  if (found === undefined || Object.keys(found.config.servers).length === 0) return undefined
  let opened: OpenedRegistry | undefined
  // A hanging server costs a few seconds at most, and one that failed recently costs nothing.
  const enough = enoughServers(() => (opened?.registry.size ?? 0) >= MIN_TOOLS, schedule)
  opened = await openFromConfig({
    found,
    env: place.env,
    remembered: true,
    registry: { serverWaitMs: 0, ...options },
    onEvent: enough.note,
  })
  const { registry, servers, close } = opened
  enough.check()
  await Promise.race([servers.ready({ timeoutMs: WAIT_MS }), enough.reached])
  enough.stop()
  const schemas = registry.listSchemas()
  if (schemas.length < MIN_TOOLS) {
    await close()
    return undefined
  }
  const requestAt = (share: number) => wordsOf(schemas[Math.floor(schemas.length * share)])
  return {
    kind: 'own',
    registry,
    intro: 'Your own servers',
    servers: [...new Set(schemas.flatMap(({ mcpServer }) => mcpServer ?? []))].sort(),
    query: requestAt(0.3),
    calls: [],
    laterQuery: requestAt(0.8),
    close: () => close(),
  }
}

/** What somebody who looks for a tool might ask. */
function wordsOf(schema: ToolSchema | undefined): string {
  const own = schema?.name.replace(`mcp__${schema.mcpServer}__`, '') ?? ''
  return own.replace(/[^A-Za-z0-9]+/g, ' ')
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
    registry,
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
    registry,
    intro: 'A made-up catalogue, since the reference servers of MCP are not installed here',
    servers: [...catalogue.keys()],
    query: 'create a refund',
    calls: [{ name: 'mcp__billing__create_refund', args: { name: 'Order 1042, damaged on arrival' } }],
    laterQuery: 'book a hotel',
    close: async () => {},
  }
}
