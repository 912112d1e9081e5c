import { op, repeat } from '../../packages/core/src/search/vectors/wasm-module.ts'

/** Numbers of 32 bits that one instruction reads, and their bytes. */
export const LANES = 4
export const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT
export const PAGE_BYTES = 65_536

/** Instructions on four numbers of 32 bits at once, as bytes; `addOne` and `storeOne` are for a single one. */
export const floats = {
  load: op.load8x16,
  store: (offset: number) => [0xfd, 0x0b, 4, ...unsigned(offset)],
  /** One number from memory, four times. */
  loadOne: (offset: number) => [0xfd, 0x09, 2, ...unsigned(offset)],
  constant: (value: number) => {
    const bytes = new Uint8Array(Float32Array.from({ length: LANES }, () => value).buffer)
    return [0xfd, 0x0c, ...bytes]
  },
  add: [0xfd, 0xe4, 0x01],
  multiply: [0xfd, 0xe6, 0x01],
  divide: [0xfd, 0xe7, 0x01],
  squareRoot: [0xfd, 0xe3, 0x01],
  lane: (lane: number) => [0xfd, 0x1f, lane],
  addOne: [0x92],
  storeOne: (offset: number) => [0x38, 2, ...unsigned(offset)],
} as const

/** Runs `body` as often as the local `steps` says; the addresses in these locals move on by one instruction's numbers. */
export function forEachStep(steps: number, addresses: readonly number[], body: readonly number[]): number[] {
  const moves = addresses.flatMap((address) => [
    ...op.get(address),
    ...op.constant(LANES * FLOAT_BYTES),
    ...op.add,
    ...op.set(address),
  ])
  const countDown = [...op.get(steps), ...op.constant(1), ...op.subtract, ...op.tee(steps)]
  return repeat(steps, [...body, ...moves, ...countDown])
}

function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]
}
