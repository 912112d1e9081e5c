import type { Embedder } from '@toolcrib/core'
import { ToolcribError } from '@toolcrib/core'
import { anyObject, anyText, checkOptions, required } from '@toolcrib/core/internal'
import { BertTokens } from './bert-tokens.ts'
import { nodeModule } from './node-module.ts'

const DIMENSIONS = 384
const MAX_TOKENS = 256
/** Texts of similar length are embedded in one batch. */
const BATCH_SIZE = 32

export interface MiniLmOptions {
  /** The model folder: `tokenizer.json`, and `model_quantized.onnx` in it or in its `onnx` subfolder. */
  readonly folder: string
  /** The module `onnxruntime-node`, if it is not installed beside this package. */
  readonly runtime?: OnnxRuntime
}

/** The part of `onnxruntime-node` that is used. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(path: string, options: { intraOpNumThreads: number }): Promise<OnnxSession>
  }
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => unknown
}

interface OnnxSession {
  run(feeds: Record<string, unknown>): Promise<Record<string, { readonly data: unknown }>>
}

/**
 * The sentence embedder all-MiniLM-L6-v2, on `onnxruntime-node` (an optional peer dependency) and a model file that
 * the host provides. A hundred times slower than `staticEmbedder()`. Both are loaded on first use, which throws
 * `config-invalid` if one is missing.
 */
export function minilm(options: MiniLmOptions): Embedder {
  checkOptions('minilm()', options, { folder: required(anyText), runtime: anyObject })
  let model: Promise<MiniLm> | undefined
  return {
    name: 'all-MiniLM-L6-v2-q8',
    dimensions: DIMENSIONS,
    async embed(texts) {
      model ??= MiniLm.load(options)
      return (await model).embed(texts)
    },
  }
}

export class MiniLm {
  readonly vocabulary: ReadonlyMap<string, number>
  readonly #runtime: OnnxRuntime
  readonly #session: OnnxSession
  readonly #tokens: BertTokens

  private constructor(runtime: OnnxRuntime, session: OnnxSession, vocabulary: ReadonlyMap<string, number>) {
    this.#runtime = runtime
    this.#session = session
    this.vocabulary = vocabulary
    this.#tokens = new BertTokens(vocabulary, MAX_TOKENS)
  }

  static async load({ folder, runtime }: MiniLmOptions): Promise<MiniLm> {
    const onnx = runtime ?? (await importRuntime())
    const vocabulary = await readVocabulary(`${folder}/tokenizer.json`)
    const session = await openSession(onnx, folder)
    return new MiniLm(onnx, session, vocabulary)
  }

  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    return this.embedTokens(texts.map((text) => this.#tokens.idsOf(text)))
  }

  /** The mean of the last layer over each text's tokens, scaled to length 1. */
  async embedTokens(texts: readonly (readonly number[])[]): Promise<Float32Array[]> {
    const vectors = new Array<Float32Array>(texts.length)
    const order = texts.map((_, at) => at).sort((a, b) => lengthOf(texts[a]) - lengthOf(texts[b]))
    for (let start = 0; start < order.length; start += BATCH_SIZE) {
      const places = order.slice(start, start + BATCH_SIZE)
      const batch = await this.#run(places.map((place) => texts[place] ?? []))
      for (const [at, place] of places.entries()) vectors[place] = batch[at] ?? new Float32Array(DIMENSIONS)
    }
    return vectors
  }

  async #run(texts: readonly (readonly number[])[]): Promise<Float32Array[]> {
    const width = Math.max(...texts.map(lengthOf))
    const shape = [texts.length, width]
    const ids = new BigInt64Array(texts.length * width)
    const mask = new BigInt64Array(texts.length * width)
    for (const [row, text] of texts.entries()) {
      for (const [column, id] of text.entries()) {
        ids[row * width + column] = BigInt(id)
        mask[row * width + column] = 1n
      }
    }
    const { Tensor } = this.#runtime
    const output = await this.#session.run({
      input_ids: new Tensor('int64', ids, shape),
      attention_mask: new Tensor('int64', mask, shape),
      token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape),
    })
    const hidden = output.last_hidden_state?.data
    if (!(hidden instanceof Float32Array)) {
      throw new ToolcribError(
        'config-invalid',
        'the ONNX file is not all-MiniLM-L6-v2; pass minilm() the folder of that model',
      )
    }
    return texts.map((text, row) => pooled(hidden, row * width * DIMENSIONS, lengthOf(text)))
  }
}

async function importRuntime(): Promise<OnnxRuntime> {
  // Hidden from bundlers and compilers, since the package is optional.
  const specifier = 'onnxruntime-node'
  try {
    const module: { default?: OnnxRuntime } & OnnxRuntime = await import(specifier)
    return module.default ?? module
  } catch (cause) {
    throw new ToolcribError(
      'config-invalid',
      'minilm() needs the package onnxruntime-node; install it, or use staticEmbedder()',
      { cause },
    )
  }
}

async function readVocabulary(path: string): Promise<ReadonlyMap<string, number>> {
  try {
    const text = await nodeModule('node:fs/promises')?.readFile(path, 'utf8')
    const { model } = JSON.parse(text ?? '')
    return new Map(Object.entries<number>(model.vocab))
  } catch (cause) {
    throw new ToolcribError('config-invalid', `minilm() cannot read ${path}; check the folder`, { cause })
  }
}

async function openSession(onnx: OnnxRuntime, folder: string): Promise<OnnxSession> {
  const options = { intraOpNumThreads: 1 }
  try {
    return await onnx.InferenceSession.create(`${folder}/onnx/model_quantized.onnx`, options)
  } catch {
    const path = `${folder}/model_quantized.onnx`
    try {
      return await onnx.InferenceSession.create(path, options)
    } catch (cause) {
      throw new ToolcribError('config-invalid', `minilm() cannot load ${path}; check the folder`, { cause })
    }
  }
}

function lengthOf(text: readonly number[] | undefined): number {
  return text?.length ?? 0
}

function pooled(hidden: Float32Array, from: number, tokens: number): Float32Array {
  const sum = new Float32Array(DIMENSIONS)
  for (let token = 0; token < tokens; token++) {
    const start = from + token * DIMENSIONS
    for (let at = 0; at < DIMENSIONS; at++) sum[at] = (sum[at] ?? 0) + (hidden[start + at] ?? 0)
  }
  let square = 0
  for (const value of sum) square += value * value
  const scale = square > 0 ? 1 / Math.sqrt(square) : 0
  return sum.map((value) => value * scale)
}
