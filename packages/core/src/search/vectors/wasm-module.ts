/**
 * As much of WebAssembly's binary format as the kernels need: a module with one function over the caller's memory, whose
 * parameters are addresses and counts.
 */
export interface WasmFunction {
  readonly name: string
  /** How many parameters it has, 32 bits each. */
  readonly parameters: number
  /** Whether it returns a number of 32 bits. */
  readonly returns: boolean
  /** Local variables after the parameters: how many of which type. */
  readonly locals: readonly (readonly [count: number, type: number])[]
  readonly code: readonly number[]
}

export const I32 = 0x7f
export const I64 = 0x7e
export const V128 = 0x7b

/** Returns undefined where WebAssembly is missing or forbidden, as it is by some content security policies. */
export function openModule(memory: WebAssembly.Memory, run: WasmFunction): WebAssembly.Exports | undefined {
  try {
    const compiled = new WebAssembly.Module(assemble(run))
    return new WebAssembly.Instance(compiled, { host: { memory } }).exports
  } catch {
    return undefined
  }
}

function assemble({ name, parameters, returns, locals, code }: WasmFunction): Uint8Array<ArrayBuffer> {
  const taken = list(Array.from({ length: parameters }, () => [I32]))
  const returned = list(returns ? [[I32]] : [])
  const declared = list(locals.map(([count, type]) => [...unsigned(count), type]))
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [[0x60, ...taken, ...returned]]),
    // The memory that the caller passes in.
    ...section(2, [[...text('host'), ...text('memory'), 0x02, 0x00, 0x01]]),
    ...section(3, [[0]]),
    ...section(7, [[...text(name), 0x00, 0]]),
    ...section(10, [sized([...declared, ...code, 0x0b])]),
  ])
}

function section(id: number, items: readonly (readonly number[])[]): number[] {
  return [id, ...sized(list(items))]
}

function list(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()]
}

function sized(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes]
}

function text(name: string): number[] {
  return sized(Array.from(name, (letter) => letter.charCodeAt(0)))
}

/** Seven bits per byte, the lowest first. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]
}

/** The same for a constant, from 0 on: its highest bit is its sign. */
function signed(value: number): number[] {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >>> 7)]
}

/** The instructions, as bytes. */
export const op = {
  get: (local: number) => [0x20, ...unsigned(local)],
  set: (local: number) => [0x21, ...unsigned(local)],
  tee: (local: number) => [0x22, ...unsigned(local)],
  constant: (value: number) => [0x41, ...signed(value)],
  load64: (offset: number) => [0x29, 3, ...unsigned(offset)],
  store32: (offset: number) => [0x36, 2, ...unsigned(offset)],
  isZero: [0x45],
  isBelow: [0x49],
  add: [0x6a],
  subtract: [0x6b],
  shiftLeft: [0x74],
  popcnt64: [0x7b],
  add64: [0x7c],
  xor64: [0x85],
  toI32: [0xa7],
  /** Eight numbers of 16 bits. */
  load8x16: (offset: number) => [0xfd, 0x00, 4, ...unsigned(offset)],
  /** Eight bytes as numbers of 16 bits. */
  loadBytesAs8x16: (offset: number) => [0xfd, 0x01, 3, ...unsigned(offset)],
  /** Multiplies eight numbers of 16 bits by eight others, and adds up each pair of products. */
  multiply8x16: [0xfd, 0xba, 0x01],
  add4x32: [0xfd, 0xae, 0x01],
  laneOf4x32: (lane: number) => [0xfd, 0x1b, lane],
} as const

/** Runs `body` until it leaves 0, or not at all if `count` is 0. */
export function repeat(count: number, body: readonly number[]): number[] {
  const branch = [0x0d, 0]
  const loop = [0x03, 0x40, ...body, ...branch, 0x0b]
  return [0x02, 0x40, ...op.get(count), ...op.isZero, ...branch, ...loop, 0x0b]
}
