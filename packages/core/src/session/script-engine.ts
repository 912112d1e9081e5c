import type { CallRunner } from '../call/call-runner.ts'
import type { CallContext } from '../call/call-scope.ts'
import { ToolcribError } from '../errors.ts'
import type { EventBody } from '../events.ts'
import type { SearchLimit } from '../meta-tools/session-meta-tools.ts'
import type { JsonSchema, Tool, ToolCall, ToolResult } from '../tool.ts'
import type { SessionScope } from './session-scope.ts'
import type { SessionSearch } from './session-search.ts'

/** What runs scripts: `scripts()` of `@toolcrib/scripts`. A registry without one has no `run_script`. */
export interface ScriptEngine {
  openSession(powers: ScriptPowers): SessionScripts
  /** A saved script as a tool. Throws `config-invalid` for one that cannot be checked. */
  toolOf(script: SavedScript, registry: KnownTools): Tool
}

/** The tools that a saved script may name. Implemented by `ToolRegistry`. */
export interface KnownTools {
  get(name: string): Tool | undefined
  resolve(name: string): readonly string[]
}

/** A script that a person has read, as a tool. */
export interface SavedScript extends Pick<Tool, 'name' | 'description' | 'title' | 'toolset'> {
  /** The schema of `input`, which the code reads. Nothing by default. */
  readonly inputSchema?: JsonSchema
  /** The body of an async function. It names each tool that it calls: `tools.github.create_issue`. */
  readonly code: string
}

/** What the scripts of a session need of it. */
export interface ScriptPowers {
  readonly sessionId: string
  readonly runner: CallRunner
  readonly searches: Pick<SessionSearch, 'all'>
  readonly searchLimit: Pick<SearchLimit, 'take'>
  /** The session as its scripts see it now. */
  makeScope(): SessionScope
  /** The context of calls that the host continues between those of the model. */
  readonly idleContext: Partial<CallContext>
  emit(event: EventBody): void
}

/** The scripts of one session that wait for a person. */
export interface PausedScripts {
  paused(): Promise<readonly PausedScript[]>
  /**
   * Notes which calls of a paused script may run, by their number. Rejects with `config-invalid` if this session has no such
   * script.
   */
  decide(run: string, decisions: Readonly<Record<number, boolean>>): Promise<void>
  /** Continues a script of which every call that waits was decided, and returns its result. */
  resume(run: string): Promise<ToolResult>
}

/** A script that waits for a person. */
export interface PausedScript {
  readonly run: string
  /** The calls that wait: `n` numbers them within the script. */
  readonly calls: readonly { readonly n: number; readonly name: string; readonly args: unknown }[]
  readonly source: string
  readonly printed: readonly string[]
}

/** The scripts of one session: those that the model runs, and those that wait. */
export interface SessionScripts extends PausedScripts {
  /** `run_script`. */
  readonly tool: Tool
  /** A script that one of these calls runs makes its calls in the same context. Returns a function to call at their end. */
  begin(calls: readonly ToolCall[], context: Partial<CallContext>): () => void
}

const refused = async () => {
  throw new ToolcribError('config-invalid', 'pass scripts: scripts() of @toolcrib/scripts to the registry')
}

/** Those of a registry that runs none. */
export const NO_SCRIPTS: PausedScripts = { paused: async () => [], decide: refused, resume: refused }

/**
 * A saved script as a tool. It is asked about as one call that names the tools it calls, and it writes if one of them does, or
 * is not registered yet.
 */
export function toolOfScript(script: SavedScript, engine: ScriptEngine | undefined, known: KnownTools): Tool {
  if (engine) return engine.toolOf(script, known)
  throw new ToolcribError('config-invalid', 'registerScript() needs scripts: scripts() of @toolcrib/scripts')
}
