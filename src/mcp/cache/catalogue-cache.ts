import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson, isRecord } from '../../json.ts'
import { makeFolder } from '../../store/files/make-folder.ts'
import { writeWhole } from '../../store/files/write-whole.ts'
import type { JsonValue, Store } from '../../store/store.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { readServerTool, type ServerTool } from '../server/server-tool.ts'

/** What is cached of a server, so that its tools are known before its process runs. */
export interface CachedCatalogue {
  readonly tools: readonly ServerTool[]
  /** What the server reported about itself; its era need not be detected again. */
  readonly info?: ServerInfo | undefined
}

/** Stores catalogues. `fingerprint` changes with anything that determines what a server is. */
export interface CatalogueCache {
  load(server: string, fingerprint: string): Promise<CachedCatalogue | undefined>
  save(server: string, fingerprint: string, catalogue: CachedCatalogue): Promise<void>
  /** A search index of all catalogues, as bytes under its own name. Optional. */
  loadIndex?(name: string): Promise<Uint8Array | undefined>
  saveIndex?(name: string, bytes: Uint8Array): Promise<void>
}

/**
 * Stores catalogues as files in a directory, one per server and fingerprint, with indexes beside them. A file that
 * cannot be read counts as missing.
 */
export function fileCatalogueCache(directory: string): CatalogueCache {
  const pathOf = (server: string, fingerprint: string) =>
    join(directory, `${toFileName(server)}-${fingerprint.slice(0, 32)}.json`)
  const indexPathOf = (name: string) =>
    join(
      directory,
      `${toFileName(name)}-${createHash('sha256').update(name).digest('hex').slice(0, 32)}.index`,
    )
  const write = async (path: string, content: string | Uint8Array) => {
    await makeFolder(directory, { mode: 0o700 })
    await writeWhole(path, content, { mode: 0o600 })
  }
  return {
    async load(server, fingerprint) {
      try {
        return readCatalogue(JSON.parse(await readFile(pathOf(server, fingerprint), 'utf8')))
      } catch {
        return undefined
      }
    },
    save(server, fingerprint, catalogue) {
      // Files here do not expire, and a server that lists no tools may just be failing.
      if (catalogue.tools.length === 0) return rm(pathOf(server, fingerprint), { force: true })
      return write(pathOf(server, fingerprint), JSON.stringify(writeCatalogue(catalogue)))
    },
    async loadIndex(name) {
      try {
        return await readFile(indexPathOf(name))
      } catch {
        return undefined
      }
    },
    saveIndex: (name, bytes) => write(indexPathOf(name), bytes),
  }
}

const DAY_MS = 24 * 60 * 60 * 1000
const VECTORS_MS = 30 * DAY_MS
/** A server that lists no tools may just be failing. */
const EMPTY_MS = 60_000

/**
 * Stores catalogues in a store, which drops them after `ttlMs`, one day by default, and empty ones after a minute.
 * Vectors are kept for a month, per model and set of servers.
 */
export function catalogueCacheIn(
  store: Store,
  { ttlMs = DAY_MS, servers }: { readonly ttlMs?: number | undefined; readonly servers: readonly string[] },
): CatalogueCache {
  const vectorsKey = (name: string) => `vectors:${hashOf(canonicalJson([name, ...servers.toSorted()]))}`
  return {
    load: async (_server, fingerprint) => readCatalogue(await store.get(`catalogue:${fingerprint}`)),
    save: (_server, fingerprint, catalogue) =>
      store.set(`catalogue:${fingerprint}`, toJson(writeCatalogue(catalogue)), {
        ttlMs: catalogue.tools.length === 0 ? Math.min(ttlMs, EMPTY_MS) : ttlMs,
      }),
    async loadIndex(name) {
      const bytes = await store.get(vectorsKey(name))
      return bytes instanceof Uint8Array ? bytes : undefined
    },
    saveIndex: (name, bytes) => store.set(vectorsKey(name), bytes, { ttlMs: VECTORS_MS }),
  }
}

/** The data arrived as JSON, whatever its type says. */
function toJson(data: unknown): JsonValue {
  return data as JsonValue
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function toFileName(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 60)
}

/** A hash of everything that determines what a server is and offers, including its secrets. */
export function fingerprintOf(server: string, config: ServerConfig): string {
  const { command, args, env, cwd, url, headers, type } = config
  const identity = canonicalJson({ server, command, args, env, cwd, url, headers, type })
  return createHash('sha256').update(identity).digest('hex')
}

const VERSION = 2

/** Serialises a catalogue. Tools are stored as they were listed, and parsed again when it is read. */
export function writeCatalogue({ tools, info }: CachedCatalogue) {
  return { version: VERSION, tools: tools.map((tool) => tool.listed ?? tool), info }
}

/** Reads the output of `writeCatalogue()`; undefined for anything else. */
export function readCatalogue(data: unknown): CachedCatalogue | undefined {
  if (!isRecord(data) || data.version !== VERSION || !Array.isArray(data.tools)) return undefined
  const tools = data.tools.map(readServerTool).filter((tool): tool is ServerTool => !('reason' in tool))
  return { tools, info: readInfo(data.info) }
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
