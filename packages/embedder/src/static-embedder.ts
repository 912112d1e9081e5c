import type { Embedder } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { anyText, checkOptions, onFirstUse, type ValueCheck } from '@toolcrib/core/internal'
import { nodeModule } from './node-module.ts'
import { TokenTable } from './token-table.ts'

const MODEL_PATH = 'models/tool-table-v6.bin'
const DIMENSIONS = 256
const MAX_LEVELS = 4
/**
 * With requests that a catalogue cannot serve, half have no tool above this; with those it can, almost all have one.
 */
export const RELATED_FROM = 0.2

export interface StaticEmbedderOptions {
  /** A model file made by `npm run train`. Defaults to the one in the package. */
  readonly path?: string
  /** The bytes of such a file, for browsers and workers, which have no files. */
  readonly bytes?: Uint8Array
}

/**
 * The embedder in the package: a table of token vectors, trained on tool catalogues (models/README.md describes the
 * data). Works offline, without native code, at tens of thousands of texts per second. The file is read on first use,
 * which takes some tens of milliseconds. In a browser, pass its `bytes`.
 *
 * @example
 * ```ts
 * import { hybrid, ToolRegistry } from 'toolcrib'
 * import { staticEmbedder } from 'toolcrib/embedders'
 *
 * // The file is models/tool-table-v6.bin in the package; serve it with the page.
 * async function openRegistry(file: Response): Promise<ToolRegistry> {
 *   const embedder = staticEmbedder({ bytes: new Uint8Array(await file.arrayBuffer()) })
 *   return new ToolRegistry({ searcher: hybrid({ embedder }) })
 * }
 * ```
 */
export function staticEmbedder(options: StaticEmbedderOptions = {}): Embedder {
  checkOptions('staticEmbedder()', options, { path: anyText, bytes: anyBytes })
  const { path, bytes } = options
  const isOwn = path === undefined && bytes === undefined
  let table: TokenTable | undefined
  const open = (): TokenTable => {
    table ??= isOwn ? ownTable() : bytes ? TokenTable.read(bytes) : readTable(path)
    return table
  }
  return {
    get name() {
      return isOwn && table === undefined ? 'tool-table-v6' : open().header.name
    },
    get dimensions() {
      return isOwn && table === undefined ? DIMENSIONS : open().header.dimensions
    },
    relatedFrom: RELATED_FROM,
    embed(texts) {
      const loaded = open()
      return texts.map((text) => loaded.embed(text))
    },
    embedRequests: (texts) => open().embedRequests(texts),
    knows: (word) => open().knows(word),
  }
}

/** Several registries share one table. */
const ownTable = onFirstUse(() => readTable(undefined))

const anyBytes: ValueCheck = { expected: 'a Uint8Array', accepts: (value) => ArrayBuffer.isView(value) }

function readTable(path: string | undefined): TokenTable {
  const fs = nodeModule('node:fs')
  if (!fs)
    throw new ToolcribError(
      'config-invalid',
      `there are no files here: fetch ${MODEL_PATH} of @toolcrib/embedder, and pass it to staticEmbedder({ bytes })`,
    )
  let bytes: Uint8Array
  try {
    bytes = fs.readFileSync(path ?? findModel(fs))
  } catch (cause) {
    if (cause instanceof ToolcribError) throw cause
    throw new ToolcribError('config-invalid', `cannot read the model ${path}; check the path`, { cause })
  }
  return TokenTable.read(bytes)
}

/** The model is in the package's root; bundlers put this code one to three folders below it. */
function findModel({ existsSync }: Pick<typeof import('node:fs'), 'existsSync'>): URL {
  for (let level = 0; level < MAX_LEVELS; level++) {
    const file = new URL(`${'../'.repeat(level)}${MODEL_PATH}`, import.meta.url)
    if (existsSync(file)) return file
  }
  throw new ToolcribError(
    'config-invalid',
    `${MODEL_PATH} was not found in the package; copy it there, or pass its path to staticEmbedder()`,
  )
}
