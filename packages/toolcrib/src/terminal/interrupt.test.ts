import { describe, expect, it } from 'vitest'
import { untilSignal } from './interrupt.ts'

describe('untilSignal', () => {
  it('aborts the work on the first signal, and exits the process when cleaning up takes too long', async () => {
    const exits: [ms: number, exitCode: number][] = []
    let cleanUp = () => {}
    const ended = untilSignal(
      process,
      async (signal) => {
        await new Promise<void>((resolve) => {
          cleanUp = resolve
        })
        signal.throwIfAborted()
      },
      (ms, exitCode) => exits.push([ms, exitCode]),
    )
    const listening = process.listenerCount('SIGTERM')
    process.emit('SIGTERM')
    expect(exits).toEqual([[5_000, 143]])
    // The system handles the next one, which ends the process.
    expect(process.listenerCount('SIGTERM')).toBe(listening - 1)
    cleanUp()
    await expect(ended).rejects.toMatchObject({ name: 'Interrupted', exitCode: 143 })
  })

  it('does not limit work without a signal', async () => {
    const exits: number[] = []
    expect(
      await untilSignal(
        process,
        async () => 'done',
        (ms) => exits.push(ms),
      ),
    ).toBe('done')
    expect(exits).toEqual([])
  })
})
