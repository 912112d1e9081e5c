import { randomBytes } from 'node:crypto'
import type { Ending } from './answer.ts'
import type { Checkpoint, Journal, JournalCall, RunRecord, Told } from './journal.ts'
import type { ScriptLimits } from './limits.ts'
import type { Recorder } from './recorder.ts'
import { NOTHING_USED, type Sandbox } from './sandbox.ts'
import type { ScriptHost } from './script-host.ts'

/** What a run starts or goes on with. */
export interface Begin
  extends Pick<RunRecord, 'source' | 'now' | 'calls' | 'told' | 'used' | 'epoch' | 'image' | 'bound'> {
  readonly run: string
  readonly earlier?: string | undefined
  readonly toolCallId: string
  readonly sandbox: Sandbox
}

/** A run that begins. */
export const NEW_RUN = {
  epoch: 0,
  image: '',
  calls: {},
  told: { printed: [], made: {}, failed: {}, costUsd: 0 },
  used: { ...NOTHING_USED, wallMs: 0 },
} as const

export function newRun(): string {
  return randomBytes(16).toString('hex')
}

/** What a run works with. */
export interface RunParts {
  readonly run: string
  /** The run of the same source that this one replaces. */
  readonly earlier?: string | undefined
  readonly toolCallId: string
  readonly host: ScriptHost
  readonly sandbox: Sandbox
  readonly journal: Journal
  /** Where the runs of this process can be replayed. */
  readonly recorder: Recorder | undefined
  readonly limits: ScriptLimits
  readonly source: string
  readonly bound: Checkpoint['bound']
  /** When the script began. */
  readonly now: number
  /** 0 until it is first paused. From then on every write is recorded before it runs. */
  readonly epoch: number
  /** The name of its stored image, if there is one. */
  readonly image: string
  readonly calls: Readonly<Record<string, JournalCall>>
  readonly told: Told
  /** What it has used of its limits in earlier parts. */
  readonly used: Checkpoint['used']
}

/** A script that ended, that waits for a person, or that could not be stored. */
export type RunOutcome =
  | {
      readonly kind: 'ended'
      readonly ending: Ending
      readonly told: Told
      readonly printedChars: number
      readonly notRun: readonly string[]
      /** Whether the store has a record of it. */
      readonly isRecorded: boolean
    }
  | { readonly kind: 'paused' }
  | {
      readonly kind: 'broken'
      readonly problem: unknown
      readonly told: Told
      /** Whether a write began of which the store knows no result. */
      readonly isUnclear: boolean
    }
