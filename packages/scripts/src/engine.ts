import { memoryStore, type Store, type Tool, ToolcribError } from '@toolcrib/core'
import type {
  KnownTools,
  SavedScript,
  ScriptEngine,
  ScriptPowers,
  SessionScripts,
} from '@toolcrib/core/internal'
import { failed, faultOf } from './answer.ts'
import { Journal } from './journal.ts'
import type { ScriptLimits } from './limits.ts'
import { Recordings } from './recordings.ts'
import { type Replay, replay } from './replay.ts'
import { Runs } from './runner.ts'
import { Sandboxes } from './sandbox.ts'
import { savedTool } from './saved-script.ts'
import { ScriptsOfSession } from './session-scripts.ts'

/** The scripts of a registry: `scripts()`. */
export class Scripts implements ScriptEngine {
  readonly #limits: ScriptLimits
  readonly #recordings: Recordings | undefined
  readonly #sandboxes: Sandboxes
  readonly runs: Runs
  /** The sessions whose calls are under way, by the ids of both. */
  readonly #calling = new Map<string, ScriptsOfSession>()

  /** `store`: without one, scripts that wait are kept in memory, and none can be replayed. */
  constructor(store: Store | undefined, keys: readonly Uint8Array[], limits: ScriptLimits) {
    const { leaseMs, ttlMs } = limits
    this.#limits = limits
    this.#sandboxes = new Sandboxes(limits.memoryMb)
    this.#recordings = store && new Recordings({ store, keys, ttlMs })
    const journal = new Journal({ store: store ?? memoryStore(), keys, leaseMs, ttlMs, now: Date.now })
    this.runs = new Runs({ journal, recordings: this.#recordings, sandboxes: this.#sandboxes }, limits)
  }

  openSession(powers: ScriptPowers): SessionScripts {
    const { sessionId } = powers
    return new ScriptsOfSession(this.runs, powers, (session, ids) => {
      for (const id of ids) this.#calling.set(JSON.stringify([sessionId, id]), session)
      return () => {
        for (const id of ids) this.#calling.delete(JSON.stringify([sessionId, id]))
      }
    })
  }

  /** A saved script as a tool, which runs in the session of each call. */
  toolOf(script: SavedScript, registry: KnownTools): Tool {
    const fault = faultOf(script.code, this.#limits)
    if (fault !== undefined) throw new ToolcribError('config-invalid', `script "${script.name}": ${fault}`)
    return savedTool(script, registry, async (parts, { sessionId, toolCallId, signal }) => {
      const session = this.#calling.get(JSON.stringify([sessionId, toolCallId]))
      if (session) return session.runSaved(parts, { toolCallId, signal, name: script.name })
      return failed(
        'not_available',
        'a saved script runs in a session, and in no other script: call its tools there',
      )
    })
  }

  /**
   * Runs a recorded script again on what its calls returned, without calling anything; `code` in place of its own. Undefined for
   * a run that is not recorded, or not with this key.
   */
  async replay(run: string, code?: string): Promise<Replay | undefined> {
    const recording = await this.#recordings?.of(run)
    if (recording === undefined) return undefined
    const { source, now } = recording
    return replay(recording, () => this.#sandboxes.open(code ?? source, this.#limits, now))
  }

  /** The source of a recorded script. */
  async sourceOf(run: string): Promise<string | undefined> {
    return (await this.#recordings?.of(run))?.source
  }

  /** Ends the spare machine. */
  close(): Promise<void> {
    return this.#sandboxes.close()
  }
}
