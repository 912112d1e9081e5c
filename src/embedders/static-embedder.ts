import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { anyText, checkOptions } from '../check-options.ts'
import { ToolcribError } from '../errors.ts'
import type { Embedder } from '../search/vectors/embedder.ts'
import { TokenTable } from './token-table.ts'

const MODEL_PATH = join('models', 'tool-table-v6.bin')
const DIMENSIONS = 256
const MAX_LEVELS = 4
/**
 * With requests that a catalogue cannot serve, half have no tool above this; with those it can, almost all have one.
 */
export const RELATED_FROM = 0.2

/** Options of `staticEmbedder()`. */
export interface StaticEmbedderOptions {
  /** A model file made by `npm run train`. Defaults to the one in the package. */
  readonly path?: string
}

/**
 * The embedder in the package: a table of token vectors, trained on tool catalogues (models/README.md describes the
 * data). Works offline, without native code, at tens of thousands of texts per second. The file is read on first use,
 * which takes some tens of milliseconds.
 */
export function staticEmbedder(options: StaticEmbedderOptions = {}): Embedder {
  checkOptions('staticEmbedder()', options, { path: anyText })
  let table: TokenTable | undefined
  const open = (): TokenTable => {
    table ??= readTable(options.path ?? findModel())
    return table
  }
  return {
    get name() {
      return options.path === undefined && table === undefined ? 'tool-table-v6' : open().header.name
    },
    get dimensions() {
      return options.path === undefined && table === undefined ? DIMENSIONS : open().header.dimensions
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

/** The model is in the package's root; bundlers put this code one to three folders below it. */
function findModel(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (let level = 0; level < MAX_LEVELS; level++) {
    const path = join(folder, MODEL_PATH)
    if (existsSync(path)) return path
    folder = dirname(folder)
  }
  throw new ToolcribError(
    'config-invalid',
    `${MODEL_PATH} was not found in the package; copy it there, or pass its path to staticEmbedder()`,
  )
}

function readTable(path: string): TokenTable {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    throw new ToolcribError('config-invalid', `cannot read the model ${path}; check the path`, { cause })
  }
  return TokenTable.read(bytes)
}
