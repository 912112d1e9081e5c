import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson, isRecord } from '../json.ts'
import type { ServerConfig } from './config/server-config.ts'
import { readServerTool, type ServerTool } from './server-tool.ts'

/** What is remembered of a server, so that its tools are known before its process runs. */
export interface CachedCatalogue {
  readonly tools: readonly ServerTool[]
  /** The protocol era that was negotiated; it need not be found out again. */
  readonly era: 'modern' | 'legacy' | undefined
}

/** Where catalogues are remembered. `fingerprint` changes with whatever decides what a server is. */
export interface CatalogueCache {
  load(server: string, fingerprint: string): Promise<CachedCatalogue | undefined>
  save(server: string, fingerprint: string, catalogue: CachedCatalogue): Promise<void>
}

/** Catalogues as files of a directory, one a server and fingerprint. A file that makes no sense counts as none. */
export function fileCatalogueCache(directory: string): CatalogueCache {
  const pathOf = (server: string, fingerprint: string) =>
    join(directory, `${server.replace(/[^\w-]/g, '_').slice(0, 60)}-${fingerprint.slice(0, 32)}.json`)
  return {
    async load(server, fingerprint) {
      try {
        return readCatalogue(JSON.parse(await readFile(pathOf(server, fingerprint), 'utf8')))
      } catch {
        return undefined
      }
    },
    async save(server, fingerprint, catalogue) {
      const path = pathOf(server, fingerprint)
      const draft = `${path}.${randomUUID()}`
      await mkdir(directory, { recursive: true, mode: 0o700 })
      try {
        await writeFile(draft, JSON.stringify({ version: VERSION, ...catalogue }), { mode: 0o600 })
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
    },
  }
}

/** A hash over all that decides what a server is and offers, its secrets included. */
export function fingerprintOf(server: string, config: ServerConfig): string {
  const { command, args, env, cwd, url, headers, type } = config
  const identity = canonicalJson({ server, command, args, env, cwd, url, headers, type })
  return createHash('sha256').update(identity).digest('hex')
}

const VERSION = 1

function readCatalogue(data: unknown): CachedCatalogue | undefined {
  if (!isRecord(data) || data.version !== VERSION || !Array.isArray(data.tools)) return undefined
  const tools = data.tools.map(readServerTool).filter((tool): tool is ServerTool => !('reason' in tool))
  return { tools, era: data.era === 'modern' || data.era === 'legacy' ? data.era : undefined }
}
