import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson, isRecord } from '../../json.ts'
import { makeFolder } from '../../store/files/make-folder.ts'
import { writeWhole } from '../../store/files/write-whole.ts'
import type { ServerConfig } from '../config/server-config.ts'
import type { ServerInfo } from '../connection/connection.ts'
import { readServerTool, type ServerTool } from '../server/server-tool.ts'

/** What is remembered of a server, so that its tools are known before its process runs. */
export interface CachedCatalogue {
  readonly tools: readonly ServerTool[]
  /** What the server said of itself; its era need not be found out again. */
  readonly info?: ServerInfo | undefined
}

/** Where catalogues are remembered. `fingerprint` changes with whatever decides what a server is. */
export interface CatalogueCache {
  load(server: string, fingerprint: string): Promise<CachedCatalogue | undefined>
  save(server: string, fingerprint: string, catalogue: CachedCatalogue): Promise<void>
  /** What a search index made of all catalogues, as bytes under a name of its own. A cache need not keep it. */
  loadIndex?(name: string): Promise<Uint8Array | undefined>
  saveIndex?(name: string, bytes: Uint8Array): Promise<void>
}

/**
 * Catalogues as files of a directory, one per server and fingerprint, and indexes beside them. A file that cannot be read
 * counts as absent.
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

function toFileName(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 60)
}

/** A hash over all that decides what a server is and offers, its secrets included. */
export function fingerprintOf(server: string, config: ServerConfig): string {
  const { command, args, env, cwd, url, headers, type } = config
  const identity = canonicalJson({ server, command, args, env, cwd, url, headers, type })
  return createHash('sha256').update(identity).digest('hex')
}

const VERSION = 2

/** What is written of a catalogue. Tools are kept as they were listed, and read again with the catalogue. */
export function writeCatalogue({ tools, info }: CachedCatalogue) {
  return { version: VERSION, tools: tools.map((tool) => tool.listed ?? tool), info }
}

/** Reads what `writeCatalogue()` made; undefined for anything else. */
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
