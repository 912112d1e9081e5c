import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'

interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Permits only the page's own scripts and styles, and requests to this origin. Images and sound of results are data or blob
 * URLs.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  'media-src data: blob:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The built page, read into memory once: no path of a request reaches the file system. */
export class StaticFiles {
  readonly #folder: string
  #files: Promise<ReadonlyMap<string, StaticFile>> | undefined

  constructor(folder: string = builtPage(import.meta.dirname)) {
    this.#folder = folder
  }

  /** The file of a path; undefined if there is none. */
  async answer(pathname: string): Promise<Response | undefined> {
    this.#files ??= this.#read()
    const files = await this.#files
    const file = files.get(pathname === '/' ? '/index.html' : pathname)
    if (file) {
      // The names of assets change with their content.
      const isHashed = pathname.startsWith('/assets/')
      const cache = isHashed ? 'public, max-age=31536000, immutable' : 'no-cache'
      return new Response(file.bytes, {
        headers: { ...HEADERS, 'content-type': file.type, 'cache-control': cache },
      })
    }
    if (files.size > 0 || pathname !== '/') return undefined
    const note = 'The page is not built. Run "npm run build", then load this again.\n'
    return new Response(note, {
      status: 503,
      headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' },
    })
  }

  async #read(): Promise<ReadonlyMap<string, StaticFile>> {
    if (!existsSync(this.#folder)) {
      this.#files = undefined
      return new Map()
    }
    const names = await readdir(this.#folder, { recursive: true, withFileTypes: true })
    const files = names
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name)
        const bytes = new Uint8Array(await readFile(path))
        const url = path.slice(this.#folder.length).replaceAll('\\', '/')
        return [url, { bytes, type: TYPES[extname(path)] ?? 'application/octet-stream' }] as const
      })
    return new Map(await Promise.all(files))
  }
}

/** `dist/inspector/page` of this package: when bundled, this file is in another folder than its source. */
function builtPage(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return join(folder, 'dist', 'inspector', 'page')
  return builtPage(resolve(folder, '..'))
}
