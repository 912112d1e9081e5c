import { createHash } from 'node:crypto'
import type { Finding, JsonValue, Store } from '@toolcrib/core'
import { canonicalJson, isRecord, type Slices, sharedSlices } from '@toolcrib/core/internal'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { firstOfEachName, readServerTool, type ScannedTools, type ServerTool } from '../listed/server-tool.ts'

/** What is cached of a server, so that its tools are known before its process runs. */
export interface CachedCatalogue {
  readonly tools: readonly ServerTool[]
  /** What the server reported about itself; its era need not be detected again. */
  readonly info?: ServerInfo | undefined
  /** What the scan of the tools found, so that the same tools are not scanned again. */
  readonly scan?: ScannedTools | undefined
}

export interface CatalogueCacheOptions {
  /** How long a catalogue stays valid. Default: one day. */
  readonly ttlMs?: number | undefined
  /** The servers whose tools the vectors cover. */
  readonly servers: readonly string[]
  /** false: catalogues are saved but never loaded, so that every server is asked. Default: true. */
  readonly isRead?: boolean | undefined
}

const DAY_MS = 24 * 60 * 60 * 1000
const VECTORS_MS = 30 * DAY_MS
/** A server that lists no tools may just be failing. */
const EMPTY_MS = 60_000

/**
 * Keeps catalogues in a store, which drops them after their time, and empty ones after a minute. Search vectors and
 * indexes are kept for a month, per model and set of servers.
 */
export class CatalogueCache {
  readonly #store: Store
  readonly #ttlMs: number
  readonly #servers: readonly string[]
  readonly #isRead: boolean
  readonly #slices = sharedSlices

  constructor(store: Store, { ttlMs = DAY_MS, servers, isRead = true }: CatalogueCacheOptions) {
    this.#store = store
    this.#ttlMs = ttlMs
    this.#servers = servers.toSorted()
    this.#isRead = isRead
  }

  /** Returns undefined if there is none, or if it cannot be parsed. */
  async load(fingerprint: string): Promise<CachedCatalogue | undefined> {
    return this.#isRead
      ? await readCatalogue(await this.#store.get(`catalogue:${fingerprint}`), this.#slices)
      : undefined
  }

  async save(fingerprint: string, catalogue: CachedCatalogue): Promise<void> {
    const ttlMs = catalogue.tools.length === 0 ? Math.min(this.#ttlMs, EMPTY_MS) : this.#ttlMs
    await this.#store.set(`catalogue:${fingerprint}`, await writeCatalogue(catalogue, this.#slices), {
      ttlMs,
    })
  }

  /** The vectors of a model, as `saveVectors()` stored them for the same servers. */
  async loadVectors(model: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#store.get(`vectors:${this.#modelKey(model)}`)
    return bytes instanceof Uint8Array ? bytes : undefined
  }

  async saveVectors(model: string, bytes: Uint8Array): Promise<void> {
    await this.#store.set(`vectors:${this.#modelKey(model)}`, bytes, { ttlMs: VECTORS_MS })
  }

  /** The search index of a model, as `saveIndex()` stored it for the same servers. */
  async loadIndex(model: string): Promise<Uint8Array | undefined> {
    const bytes = await this.#store.get(`index:${this.#modelKey(model)}`)
    return bytes instanceof Uint8Array ? bytes : undefined
  }

  async saveIndex(model: string, bytes: Uint8Array): Promise<void> {
    await this.#store.set(`index:${this.#modelKey(model)}`, bytes, { ttlMs: VECTORS_MS })
  }

  #modelKey(model: string): string {
    return hashOf([model, ...this.#servers])
  }
}

/** A hash of everything that determines what a server is and offers, including its secrets. */
export function fingerprintOf(server: string, config: ServerConfig): string {
  const { command, args, env, cwd, url, headers, type } = config
  return hashOf({ server, command, args, env, cwd, url, headers, type })
}

function hashOf(data: unknown): string {
  return createHash('sha256').update(canonicalJson(data)).digest('hex')
}

const VERSION = 2

/** Tools are stored as they were listed, and parsed again when they are read. */
async function writeCatalogue({ tools, info, scan }: CachedCatalogue, slices: Slices): Promise<JsonValue> {
  const listed = tools.map((tool) => tool.listed ?? tool)
  const seal = scan && (await sealOf(listed, scan, slices))
  // The data arrived as JSON, whatever its type says.
  return { version: VERSION, tools: listed, info, scan, seal } as unknown as JsonValue
}

/** A hash of the tools as they are stored, and of the hash of their definitions, which takes ten times as long to make. */
async function sealOf(
  listed: readonly unknown[],
  { definitions }: ScannedTools,
  slices: Slices,
): Promise<string> {
  const hash = createHash('sha256').update(definitions)
  await slices.each(listed, (tool) => hash.update(JSON.stringify(tool)).update('\n'))
  return hash.digest('hex')
}

/** Returns undefined for anything but the output of `writeCatalogue()`. */
async function readCatalogue(data: unknown, slices: Slices): Promise<CachedCatalogue | undefined> {
  if (!isRecord(data) || data.version !== VERSION || !Array.isArray(data.tools)) return undefined
  const usable: ServerTool[] = []
  await slices.each(data.tools, (listed) => {
    const tool = readServerTool(listed)
    if (!('reason' in tool)) usable.push(tool)
  })
  const { tools } = firstOfEachName(usable)
  const scan = readScan(data.scan)
  // An older release may have stored a name twice, and scanned both tools.
  const isWhole = tools.length === data.tools.length
  const isSealed = isWhole && scan !== undefined && data.seal === (await sealOf(data.tools, scan, slices))
  return { tools, info: readInfo(data.info), scan: scan && { ...scan, isSealed } }
}

function readInfo(info: unknown): ServerInfo | undefined {
  if (!isRecord(info) || (info.era !== 'modern' && info.era !== 'legacy')) return undefined
  const { era, protocolVersion, capabilities, instructions, serverInfo } = info
  return {
    era,
    protocolVersion: String(protocolVersion),
    capabilities: isRecord(capabilities) ? capabilities : {},
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ...(isRecord(serverInfo) ? { serverInfo } : {}),
  }
}

function readScan(scan: unknown): ScannedTools | undefined {
  if (!isRecord(scan) || typeof scan.rules !== 'string' || typeof scan.definitions !== 'string')
    return undefined
  const { rules, definitions, findings } = scan
  return Array.isArray(findings) && findings.every(isFinding) ? { rules, definitions, findings } : undefined
}

const FINDING_KEYS = ['kind', 'severity', 'server', 'tool', 'place', 'message', 'excerpt']

function isFinding(finding: unknown): finding is Finding {
  return isRecord(finding) && FINDING_KEYS.every((key) => typeof finding[key] === 'string')
}
