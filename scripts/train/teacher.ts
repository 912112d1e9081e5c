import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { MiniLm, type OnnxRuntime } from '../../packages/embedder/src/minilm.ts'

const DIMENSIONS = 384
/** How many texts are embedded between two writes of the cache. */
const CHUNK = 2_000

/** MiniLM's vectors, each computed once and cached in a folder. */
export class Teacher {
  readonly dimensions: number = DIMENSIONS
  readonly model: MiniLm
  readonly #folder: string
  readonly #vectors = new Map<string, Float32Array>()

  private constructor(model: MiniLm, folder: string) {
    this.model = model
    this.#folder = folder
    this.#read()
  }

  /** `modelFolder` is that of `minilm()`; `runtimeFolder` is where `onnxruntime-node` is installed. */
  static async open(modelFolder: string, runtimeFolder: string, cacheFolder: string): Promise<Teacher> {
    const runtime: OnnxRuntime = createRequire(join(runtimeFolder, 'package.json'))('onnxruntime-node')
    return new Teacher(await MiniLm.load({ folder: modelFolder, runtime }), cacheFolder)
  }

  /** The vectors of texts, each of length 1. */
  async vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
    return this.#all(texts, (missing) => this.model.embed(missing))
  }

  /** The vectors of single tokens of MiniLM's own vocabulary, including those like `##ing`. */
  async tokenVectors(tokens: readonly string[]): Promise<Float32Array[]> {
    const { vocabulary } = this.model
    const idOf = (token: string): number => vocabulary.get(token) ?? 0
    const keys = tokens.map((token) => `${TOKEN_KEY}${token}`)
    return this.#all(keys, (missing) =>
      this.model.embedTokens(
        missing.map((key) => [idOf('[CLS]'), idOf(key.slice(TOKEN_KEY.length)), idOf('[SEP]')]),
      ),
    )
  }

  async #all(
    keys: readonly string[],
    compute: (missing: readonly string[]) => Promise<Float32Array[]>,
  ): Promise<Float32Array[]> {
    const missing = [...new Set(keys)].filter((key) => !this.#vectors.has(key))
    for (let start = 0; start < missing.length; start += CHUNK) {
      const chunk = missing.slice(start, start + CHUNK)
      this.#write(chunk, await compute(chunk))
      console.log(`  MiniLM: ${start + chunk.length} of ${missing.length}`)
    }
    return keys.map((key) => this.#vectors.get(key) ?? new Float32Array(DIMENSIONS))
  }

  #read(): void {
    const [keysPath, vectorsPath] = this.#paths()
    if (!existsSync(keysPath)) return
    const keys = readFileSync(keysPath, 'utf8').split('\n').filter(Boolean)
    const bytes = readFileSync(vectorsPath)
    const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
    for (const [at, key] of keys.entries())
      this.#vectors.set(JSON.parse(key), values.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS))
  }

  #write(keys: readonly string[], vectors: readonly Float32Array[]): void {
    const [keysPath, vectorsPath] = this.#paths()
    mkdirSync(this.#folder, { recursive: true })
    for (const [at, key] of keys.entries()) {
      const vector = vectors[at] ?? new Float32Array(DIMENSIONS)
      this.#vectors.set(key, vector)
    }
    const flat = new Float32Array(keys.length * DIMENSIONS)
    for (const [at, vector] of vectors.entries()) flat.set(vector, at * DIMENSIONS)
    appendFileSync(vectorsPath, new Uint8Array(flat.buffer))
    appendFileSync(keysPath, keys.map((key) => `${JSON.stringify(key)}\n`).join(''))
  }

  #paths(): [string, string] {
    return [join(this.#folder, 'keys.jsonl'), join(this.#folder, 'vectors.f32')]
  }
}

/** Distinguishes tokens from texts with the same characters. */
const TOKEN_KEY = 'token '
