import { type AskAnswer, ToolcribError, type ToolResult } from '@toolcrib/core'
import { BatchAbort, describeError, type PausedScript, Slots } from '@toolcrib/core/internal'
import {
  again,
  answerOf,
  BUSY,
  brokenAnswer,
  expiredText,
  failed,
  faultOf,
  GONE,
  pausedAnswer,
  resultOf,
  UNREADABLE,
  unclearText,
} from './answer.ts'
import { type CallState, isOver, type Journal, Replaced, type RunRecord, sha256 } from './journal.ts'
import type { ScriptLimits } from './limits.ts'
import { Recorder } from './recorder.ts'
import type { Recordings } from './recordings.ts'
import { type Begin, NEW_RUN, newRun, type RunOutcome } from './run-outcome.ts'
import type { Sandboxes, Step } from './sandbox.ts'
import type { ScriptHost, ScriptRunner } from './script-host.ts'
import { ScriptRun } from './script-run.ts'

/** A script until it has ended, or first waits for a person. */
interface Begun {
  readonly run: string
  readonly ended: ToolResult | undefined
}

/** Where scripts run, and where they are kept. */
interface Places {
  readonly journal: Journal
  /** Absent where no run can be replayed. */
  readonly recordings: Recordings | undefined
  readonly sandboxes: Sandboxes
}

/** Runs the scripts of all sessions of a registry, and continues those that waited. */
export class Runs implements ScriptRunner {
  readonly #limits: ScriptLimits
  readonly #journal: Journal
  readonly #recordings: Recordings | undefined
  readonly #sandboxes: Sandboxes
  readonly #slots: Slots
  /** Scripts that have not paused yet. */
  readonly #starting = new Map<string, Promise<Begun>>()

  constructor({ journal, recordings, sandboxes }: Places, limits: ScriptLimits) {
    this.#limits = limits
    this.#journal = journal
    this.#recordings = recordings
    this.#sandboxes = sandboxes
    this.#slots = new Slots(limits.maxScripts)
  }

  runSaved(
    { code, input, toolCallId }: Parameters<ScriptRunner['runSaved']>[0],
    host: ScriptHost,
  ): Promise<ToolResult> {
    // On the first line, which keeps its number. A literal would give `__proto__` a meaning.
    const source = `const input = JSON.parse(${JSON.stringify(JSON.stringify(input ?? {}))});${code}`
    return answered(() => this.#once({ source, toolCallId }, host))
  }

  /** Runs a script that neither pauses nor continues. */
  async #once(script: Pick<Begin, 'source' | 'toolCallId'>, host: ScriptHost): Promise<ToolResult> {
    const ended = await this.#start({ ...script, run: newRun() }, host)
    return ended ?? failed('script_failed', GONE)
  }

  /** Runs a script, or continues the paused one with the same source. Never rejects. */
  run({ code, toolCallId }: Parameters<ScriptRunner['run']>[0], host: ScriptHost): Promise<ToolResult> {
    return answered(async () => {
      const fault = faultOf(code, this.#limits)
      if (fault !== undefined) return failed('input_invalid', fault)
      if (host.isTransient) return this.#once({ source: code, toolCallId }, host)
      const bound = { session: host.sessionId, script: sha256(code) }
      const key = JSON.stringify(bound)
      const same = this.#starting.get(key)
      const begun = same ?? this.#begin(code, bound, toolCallId, host)
      this.#starting.set(key, begun)
      try {
        const { run, ended } = await begun
        if (ended === undefined) return this.#goOn(run, toolCallId, host)
        return same ? again(ended, 'runs already, in another call') : ended
      } finally {
        if (this.#starting.get(key) === begun) this.#starting.delete(key)
      }
    })
  }

  /** Starts a script, unless it is a repetition: then its earlier run goes on, or its answer is given again. */
  async #begin(
    code: string,
    bound: Pick<RunRecord['bound'], 'session' | 'script'>,
    toolCallId: string,
    host: ScriptHost,
  ): Promise<Begun> {
    const known = await this.#journal.runOf(bound)
    const record = known === undefined ? undefined : await this.#journal.read(known)
    if (known !== undefined && record !== undefined && record.source === code) {
      if (!isOver(record)) return { run: known, ended: undefined }
      const agoMs = Date.now() - (record.endedAt ?? 0)
      const ago = `ended ${Math.round(agoMs / 1000)} s ago`
      if (agoMs < REPEATED_MS) return { run: known, ended: again(resultOf(record), ago) }
    }
    const run = newRun()
    return { run, ended: await this.#start({ run, earlier: known, source: code, toolCallId }, host) }
  }

  async paused({ sessionId }: ScriptHost): Promise<readonly PausedScript[]> {
    const runs = await this.#journal.runsOf(sessionId)
    // The process of one that runs may have died.
    const waits = ({ state, leaseUntil, expiresAt }: RunRecord) =>
      state === 'paused' ? expiresAt > Date.now() : leaseUntil <= Date.now()
    const paused = runs.filter(({ record }) => waits(record))
    return paused.map(({ run, record: { calls, source, told } }) => ({
      run,
      calls: heldIn(calls).map(([n, { name, args }]) => ({ n: Number(n), name, args })),
      source,
      printed: told.printed,
    }))
  }

  async decide(run: string, decisions: Readonly<Record<number, boolean>>, host: ScriptHost): Promise<void> {
    const record = await this.#journal.read(run)
    if (record === undefined || record.bound.session !== host.sessionId)
      throw new ToolcribError('config-invalid', `there is no paused script "${run}" in this session`)
    // A misspelt refusal must not let a call run.
    if (!Object.values(decisions).every((answer) => typeof answer === 'boolean'))
      throw new ToolcribError('config-invalid', 'each decision about a paused script is true or false')
    const states = Object.entries(decisions).map(
      ([n, isGranted]) => [n, isGranted ? 'granted' : 'denied'] as const,
    )
    await this.#decide(run, states, host)
  }

  async #decide(
    run: string,
    decided: readonly (readonly [string, CallState])[],
    host: ScriptHost,
  ): Promise<void> {
    await this.#journal.decide(run, Object.fromEntries(decided))
    const count = (wanted: CallState) => decided.filter(([, state]) => state === wanted).length
    host.emit({ type: 'script-decided', run, granted: count('granted'), denied: count('denied') })
  }

  resume(run: string, host: ScriptHost): Promise<ToolResult> {
    return answered(() => this.#goOn(run, `script:${run.slice(0, 8)}`, host))
  }

  /** Undefined if it waits for a person. */
  #start(
    script: Pick<Begin, 'run' | 'earlier' | 'source' | 'toolCallId'>,
    host: ScriptHost,
  ): Promise<ToolResult | undefined> {
    const { run, source, toolCallId } = script
    return this.#inSlot(host, async () => {
      const now = Date.now()
      const machine = await this.#sandboxes.digest()
      host.emit({ type: 'script-started', run, toolCallId, source })
      const bound = { session: host.sessionId, script: sha256(source), machine }
      const begin = { ...NEW_RUN, ...script, now, bound }
      const { sandbox, first } = await this.#sandboxes.open(source, this.#limits, now)
      return this.#toEnd({ ...begin, sandbox }, first, host)
    })
  }

  /** Asks about what a paused script waits for, and continues it until it ends, or nobody answers. */
  async #goOn(run: string, toolCallId: string, host: ScriptHost): Promise<ToolResult> {
    for (;;) {
      const record = await this.#journal.read(run)
      if (record === undefined || record.bound.session !== host.sessionId)
        return failed('script_failed', GONE)
      if (record.state === 'done') return failed('script_failed', record.answer ?? GONE)
      if (isOver(record)) return resultOf(record)
      if (record.state === 'paused' && record.expiresAt <= Date.now()) {
        const text = expiredText(record)
        await this.#journal.expire(run, text)
        return failed('script_failed', text)
      }
      const waiting = await this.#ask(run, record, host)
      const ended = waiting ?? (await this.#inSlot(host, () => this.#continue(run, toolCallId, host)))
      if (ended) return ended
    }
  }

  /** Runs a script from its image. Undefined if it waits again. */
  async #continue(run: string, toolCallId: string, host: ScriptHost): Promise<ToolResult | undefined> {
    const record = await this.#journal.read(run)
    // Before it is claimed: an image that cannot be opened keeps nobody from trying.
    const isOfThisMachine = record?.bound.machine === (await this.#sandboxes.digest())
    const image = record && isOfThisMachine ? await this.#journal.image(run, record) : undefined
    const isLost = record?.image === ''
    if (record === undefined || (image === undefined && !isLost)) {
      const isReplaced = (await this.#journal.read(run))?.image !== record?.image
      return failed('script_failed', isReplaced ? BUSY : UNREADABLE)
    }
    const claimed = await this.#journal.claim(run, record, unclearText)
    if (claimed === undefined || image === undefined) {
      const now = await this.#journal.read(run)
      return now?.state === 'unclear' ? failed('unclear', now.answer ?? '') : failed('script_failed', BUSY)
    }
    host.emit({ type: 'script-resumed', run })
    const sandbox = await this.#sandboxes.take()
    const first = await sandbox.restore(image, this.#limits, claimed.now, claimed.used)
    return this.#toEnd({ ...claimed, run, toolCallId, sandbox }, first, host)
  }

  /** The answer of a script that goes on waiting; undefined if it may go on. */
  async #ask(run: string, { calls, told }: RunRecord, host: ScriptHost): Promise<ToolResult | undefined> {
    const held = heldIn(calls)
    if (held.length === 0) return undefined
    const asked = held.map(([n, { name, args }]) => ({ toolCallId: `${run}.${n}`, name, args }))
    const answers = (await host.ask(asked)) ?? []
    const decided = held.flatMap(([n], at): [string, CallState][] => {
      const answer = answers[at]
      return typeof answer === 'string' ? [[n, stateAfter(answer)]] : []
    })
    if (decided.length > 0) await this.#decide(run, decided, host)
    if (decided.length === held.length) return undefined
    const results = answers.flatMap((answer) => (typeof answer === 'object' ? [answer.result] : []))
    // That nobody could be asked, or nobody answered, is not a person's refusal.
    const other = results.find((result) => result.ok || result.code !== 'denied')
    const waiting = held.flatMap(([, { name }], at) => (typeof answers[at] === 'string' ? [] : [name]))
    const reasons = results.flatMap((result) => (result.ok ? [] : [result.error]))
    return other ?? pausedAnswer(run, waiting, told, reasons)
  }

  /** Runs a script until it ends; undefined if it waits for a person. */
  async #toEnd(begin: Begin, first: Step, host: ScriptHost): Promise<ToolResult | undefined> {
    const { run, epoch } = begin
    const before = epoch === 0 ? undefined : await this.#recordings?.of(run)
    const recorder = this.#recordings && new Recorder(before ?? begin)
    const parts = { ...begin, host, journal: this.#journal, limits: this.#limits, recorder }
    const outcome = await new ScriptRun(parts).toEnd(first)
    // A run that cannot be kept cannot be replayed.
    if (recorder) await this.#recordings?.keep(run, recorder.recording).catch(() => {})
    if (outcome.kind === 'paused') {
      const record = await this.#journal.read(run)
      const names = heldIn(record?.calls ?? {}).map(([, { name }]) => name)
      host.emit({ type: 'script-paused', run, names })
      return undefined
    }
    const answer = outcome.kind === 'ended' ? answerOf(outcome, this.#limits) : whyBroken(outcome, epoch > 0)
    if (outcome.kind === 'ended' && outcome.isRecorded) await this.#noteEnd(run, epoch, answer, outcome.told)
    const text = answer.ok ? answer.value : answer.error
    const how = {
      ok: answer.ok,
      answer: text.slice(0, MAX_TOLD),
      ...(answer.ok ? {} : { code: answer.code }),
    }
    host.emit({ type: 'script-ended', run, ...how })
    return answer
  }

  async #noteEnd(run: string, epoch: number, answer: ToolResult, told: RunRecord['told']): Promise<void> {
    const how = answer.ok
      ? ({ state: 'done', answer: answer.value, told } as const)
      : ({ state: 'failed', answer: answer.error, code: answer.code, told } as const)
    try {
      await this.#journal.end(run, epoch, how)
    } catch {
      // It has ended all the same. Who continues it later repeats no write, and comes to the same end.
    }
  }

  async #inSlot(
    host: ScriptHost,
    work: () => Promise<ToolResult | undefined>,
  ): Promise<ToolResult | undefined> {
    const abort = new BatchAbort(host.signal)
    const leave = await this.#slots.enter(abort)
    try {
      return leave === undefined ? failed('cancelled', 'the call was cancelled') : await work()
    } finally {
      leave?.()
      abort.close()
    }
  }
}

/** A call whose tool has left is made again, and is held again if the tool is back. */
function stateAfter(answer: Extract<AskAnswer, string> | 'gone'): CallState {
  if (answer === 'gone') return 'open'
  return answer === 'deny' ? 'denied' : 'granted'
}

async function answered(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work()
  } catch (problem) {
    return failed('script_failed', describeError(problem))
  }
}

function whyBroken(
  { problem, told, isUnclear }: Extract<RunOutcome, { kind: 'broken' }>,
  isStored: boolean,
): ToolResult {
  if (problem instanceof Replaced) return failed('script_failed', BUSY)
  return brokenAnswer(describeError(problem), told, { isUnclear, isStored })
}

/** Characters of an answer in an event. */
const MAX_TOLD = 2_000

function heldIn(calls: RunRecord['calls']) {
  return Object.entries(calls).filter(([, { state }]) => state === 'held')
}

/** How long after its end the same source is not run again: its client may not have got the answer. */
const REPEATED_MS = 10 * 60_000
