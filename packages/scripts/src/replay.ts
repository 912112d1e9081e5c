import type { Given, Settled, StartedSandbox, Step } from './sandbox.ts'

/** One call of a script and what it got. */
export interface RecordedCall {
  readonly n: number
  readonly path: string
  /** Its arguments, as JSON. */
  readonly args: string
  readonly given: Given
}

/** What a script did: its calls in the order in which it got their results; those of one list at the same moment. */
export interface Recording {
  readonly source: string
  /** When it began. */
  readonly now: number
  readonly steps: readonly (readonly RecordedCall[])[]
  /** Calls that have no result yet. */
  readonly open: readonly (readonly [n: number, path: string, args: string])[]
  /** Whether results that would have taken too much room are missing at the end. */
  readonly isCut: boolean
}

/** A script that was run again on what its calls returned. */
export interface Replay {
  readonly calls: readonly RecordedCall[]
  readonly printed: readonly string[]
  /** What it returned, as JSON, or what it threw. */
  readonly end: { readonly kind: 'returned' | 'threw'; readonly text: string } | undefined
  /** Where it no longer does what was recorded; undefined if it does the same. */
  readonly divergence: string | undefined
}

/** Runs a script on recorded results: no tool is called. */
export async function replay(
  { steps, isCut }: Recording,
  start: () => Promise<StartedSandbox>,
): Promise<Replay> {
  const { sandbox, first } = await start()
  const made = new Map<number, readonly [path: string, args: string]>()
  const calls: RecordedCall[] = []
  const printed: string[] = []
  let end: Replay['end']
  const hear = ({ said, over }: Step) => {
    for (const [n, what, text] of said) {
      if (n > 0) made.set(n, [what, text])
      else if (what === 'print') printed.push(text)
      else end ??= { kind: what === 'return' ? 'returned' : 'threw', text }
    }
    if (over) end ??= { kind: 'threw', text: JSON.stringify(over) }
  }
  try {
    hear(first)
    for (const step of steps) {
      const settled: Settled[] = []
      for (const call of step) {
        const divergence = difference(call, made.get(call.n))
        if (divergence !== undefined) return { calls, printed, end, divergence }
        made.delete(call.n)
        calls.push(call)
        settled.push([call.n, call.given.kind, call.given.text])
      }
      hear(await sandbox.settle(settled))
    }
    return { calls, printed, end, divergence: isCut ? undefined : beyond(made, end) }
  } finally {
    await sandbox.end()
  }
}

function difference(
  { n, path, args }: RecordedCall,
  now: readonly [string, string] | undefined,
): string | undefined {
  if (now === undefined) return `call ${n}, ${path} ${short(args)}, is not made any more`
  if (now[0] === path && now[1] === args) return undefined
  return `call ${n} is now ${now[0]} ${short(now[1])}; recorded is ${path} ${short(args)}`
}

/** A call without a recorded result, if the script still waits for it. */
function beyond(
  made: ReadonlyMap<number, readonly [string, string]>,
  end: Replay['end'],
): string | undefined {
  const [first] = made
  if (end !== undefined || first === undefined) return undefined
  const [n, [path, args]] = first
  return `call ${n}, ${path} ${short(args)}, has no recorded result`
}

function short(args: string): string {
  return args.length > 200 ? `${args.slice(0, 200)} …` : args
}
