import type { AskAnswer, AskedCall, AskHandler, AskRequest, ToolRegistry, ToolResult } from '@toolcrib/core'
import { maskArguments } from '@toolcrib/core/internal'
import type { Store } from '@toolcrib/mcp/stores'
import { type ClientLine, canAnswer, clientName } from '../asks/client-line.ts'
import type { Decision } from '../audit/audited-call.ts'
import { resultOf } from '../calls/call-answer.ts'
import { definitionHash } from '../definition-hash.ts'
import type { AllowedTools, GatewayTime, Limits } from '../gateway-options.ts'
import { isJson, type Json } from '../json-rpc.ts'
import { invalidState } from '../replicas/continued-calls.ts'
import type { ClientSession } from '../sessions/gateway-sessions.ts'
import { AlwaysGrants } from './always-grants.ts'
import {
  type ApprovalBook,
  ApprovalBooks,
  type ApprovalSubject,
  type GrantKind,
  type PendingApproval,
} from './approval-book.ts'
import {
  approvalQuestion,
  readDecision,
  shownArguments,
  tooManyWait,
  unanswered,
} from './approval-question.ts'
import { type ClientDecision, type Decided, GivenAnswers, type KnownCall } from './given-answers.ts'

/** What answers a call about which nobody has decided. */
interface Undecided {
  readonly result: ToolResult
  /** The question, if the client has to answer it with its next request. */
  readonly question?: Json
}

const ALLOWED: Decision = { decision: 'allow', by: 'policy' }
const UNANSWERED: Decision = { decision: 'none', by: 'policy' }

/** The key of our question among those that a modern client answers. */
const QUESTION = 'toolcrib.ask'
const POLL_MS = 500
const PROGRESS_MS = 10_000

/** What waits for a person, and what persons granted. The same for all replicas. */
export interface GatewayApprovals {
  list(): Promise<ApprovalBook>
  /** Settles a call that waits; undefined if there is none with this id. */
  decide(id: string, answer: GrantKind | 'deny'): Promise<PendingApproval | undefined>
  /** Ends a grant, or all of them; returns how many. */
  revoke(id?: string): Promise<number>
}

/** The work of asking about one request of a client. */
export interface Approval {
  readonly onAsk: AskHandler
  /** What was decided so far. */
  readonly decided: Decision
  /** What the client gets now, if it has to answer a question with its next request. */
  readonly question: Json | undefined
  /** An answer of the server, with a state from which the client continues without being asked about the call again. */
  continued(answer: Json): Json
}

/**
 * Asks persons about calls that the policy's `ask` names: the client's own user, where the client can be asked; else
 * whoever looks at the page or types `toolcrib approve-call`.
 */
export class Approvals implements GatewayApprovals {
  readonly #registry: ToolRegistry
  readonly #store: Store
  readonly #books: ApprovalBooks
  readonly #limits: Pick<Limits, 'askWaitMs' | 'askTimeoutMs'>
  readonly #time: GatewayTime
  readonly #always: AlwaysGrants
  readonly #onPending: ((pending: PendingApproval) => void) | undefined

  constructor(
    registry: ToolRegistry,
    store: Store,
    options: {
      readonly limits: Pick<Limits, 'askWaitMs' | 'askTimeoutMs'>
      readonly time: GatewayTime
      readonly onPending?: ((pending: PendingApproval) => void) | undefined
      readonly alwaysAllowed: () => AllowedTools | undefined
    },
  ) {
    this.#registry = registry
    this.#store = store
    this.#limits = options.limits
    this.#time = options.time
    this.#onPending = options.onPending
    this.#always = new AlwaysGrants(options.alwaysAllowed)
    this.#books = new ApprovalBooks(store, options.time.now)
  }

  async list(): Promise<ApprovalBook> {
    const { pending, grants } = await this.#books.read()
    return {
      pending: pending.filter(({ isDenied }) => !isDenied),
      grants: [...grants, ...this.#always.list()],
    }
  }

  async decide(id: string, answer: GrantKind | 'deny'): Promise<PendingApproval | undefined> {
    const decided = await this.#books.decide(id, answer, this.#time.newId())
    // If it cannot be kept in the config, the grant stays in the store.
    if (decided && answer === 'always' && (await this.#always.add(decided)))
      await this.#books.forget(decided.tool)
    return decided
  }

  async revoke(id?: string): Promise<number> {
    return (await this.#always.revoke(id)) + (await this.#books.revoke(id))
  }

  /** Reads the answer that a modern client sent with its request. Throws for a state that was used before. */
  async readAnswer(params: Json): Promise<ClientDecision | undefined> {
    const state = stateOf(params.requestState)
    if (!state) return undefined
    const { calls, nonce, isGranted, by, upstream } = state
    if (!(await this.#isFirst(String(nonce)))) throw invalidState()
    const { requestState: _, inputResponses, ...others } = params
    const { [QUESTION]: answer, ...responses } = isJson(inputResponses) ? inputResponses : {}
    return {
      calls: calls as readonly KnownCall[],
      decision: isGranted === true ? 'once' : readDecision(answer),
      by: by === 'operator' ? 'operator' : 'user',
      rest: {
        ...others,
        ...(Object.keys(responses).length > 0 ? { inputResponses: responses } : {}),
        ...(typeof upstream === 'string' ? { requestState: upstream } : {}),
      },
    }
  }

  /** Asks about the call of one request. */
  of(client: ClientSession, line: ClientLine, given: ClientDecision | undefined): Approval {
    let granted: AskedCall | undefined
    const approval = { decided: ALLOWED, question: undefined as Json | undefined }
    const answers = new GivenAnswers(given)
    const onAsk = async ({ calls }: AskRequest): Promise<readonly AskAnswer[]> => {
      approval.decided = UNANSWERED
      const decided = await this.#decideAll(calls, client, line, answers)
      return decided.map((answer, at) => {
        if ('result' in answer) {
          approval.question = answer.question
          return answer
        }
        approval.decided = answer
        if (answer.decision === 'deny') return 'deny'
        granted = calls[at]
        return 'once'
      })
    }
    return Object.assign(approval, {
      onAsk,
      continued: (answer: Json) => {
        if (!granted || answer.resultType !== 'input_required') return answer
        const { requestState: upstream } = answer
        const { by } = approval.decided
        return { ...answer, requestState: this.#state([granted], { isGranted: true, by, upstream }) }
      },
    })
  }

  /** Answers each call. The client's user is asked about all of them at once. */
  async #decideAll(
    calls: readonly AskedCall[],
    client: ClientSession,
    line: ClientLine,
    given: GivenAnswers,
  ): Promise<readonly (Decided | Undecided)[]> {
    const known = await Promise.all(
      calls.map(async (call) => {
        const subject = this.#subject(call, client, line)
        const answer = given.take(call, subject.definition)
        return answer ? this.#settle(answer, subject) : this.#granted(subject)
      }),
    )
    const open = calls.filter((_call, at) => known[at] === undefined)
    const answers = open.length === 0 ? [] : await this.#ask(open, client, line)
    return known.map((answer) => answer ?? (answers.shift() as Decided | Undecided))
  }

  async #ask(
    calls: readonly AskedCall[],
    client: ClientSession,
    line: ClientLine,
  ): Promise<(Decided | Undecided)[]> {
    if (!canAnswer(line.capabilities, 'elicitation/create'))
      return Promise.all(calls.map((call) => this.#waitForOthers(call, client, line)))
    const question = approvalQuestion(
      calls.map(({ tool, args, uses = [] }) => {
        const [shown = tool, ...called] = [tool, ...uses].map((name) => client.names.shown(name))
        return { tool: shown, args: maskArguments(args), uses: called }
      }),
    )
    if (line.era === 'legacy') {
      const answer = await line.ask('elicitation/create', question, line.signal)
      const decided = { decision: readDecision(answer), by: 'user' } as const
      return Promise.all(calls.map((call) => this.#settle(decided, this.#subject(call, client, line))))
    }
    // The answer comes with the client's next request, here or at another replica: nothing is kept meanwhile.
    const params = { mode: 'form', ...question }
    const asked = {
      resultType: 'input_required',
      inputRequests: { [QUESTION]: { method: 'elicitation/create', params } },
      requestState: this.#state(calls, {}),
    }
    return calls.map(() => ({ question: asked, result: resultOf(asked) }))
  }

  async #granted(subject: ApprovalSubject): Promise<Decided | undefined> {
    if (this.#always.covers(subject)) return { decision: 'always', by: 'user' }
    const grant = await this.#books.use(subject)
    return grant && { decision: grant.kind, by: grant.by }
  }

  async #settle({ decision, by }: Decided, subject: ApprovalSubject): Promise<Decided> {
    const isKept = decision === 'always' && (await this.#always.add(subject))
    if (!isKept && (decision === 'session' || decision === 'always'))
      await this.#books.grant(subject, decision, this.#time.newId())
    return { decision, by }
  }

  /** Waits for somebody at the page or a terminal. The call may be approved later, too, for when it is made again. */
  async #waitForOthers(
    call: AskedCall,
    client: ClientSession,
    line: ClientLine,
  ): Promise<Decided | Undecided> {
    const subject = this.#subject(call, client, line)
    const pending = await this.#books.wait(this.#pending(call, subject, client, line))
    if (!pending) return { result: tooManyWait(client.names.shown(call.tool)) }
    this.#onPending?.(pending)
    const { askWaitMs } = this.#limits
    for (let waited = 0; waited < askWaitMs; waited += POLL_MS) {
      await this.#pause(Math.min(POLL_MS, askWaitMs - waited), line.signal)
      if (line.signal.aborted) break
      const granted = await this.#granted(subject)
      if (granted) return granted
      const { pending: all } = await this.#books.read()
      if (all.some(({ id, isDenied }) => id === pending.id && isDenied))
        return { decision: 'deny', by: 'operator' }
      if (waited % PROGRESS_MS === 0)
        line.progress({ progress: waited / 1_000, message: `waiting for approval ${pending.id}` })
    }
    return { result: unanswered(client.names.shown(call.tool), pending.id) }
  }

  #pending(
    call: AskedCall,
    subject: ApprovalSubject,
    client: ClientSession,
    line: ClientLine,
  ): PendingApproval {
    const { title, annotations, source, args } = call
    const now = this.#time.now()
    const name = clientName(line)
    const { profile } = client.view
    return {
      ...subject,
      id: crypto.randomUUID().replaceAll('-', '').toUpperCase(),
      args: shownArguments(args),
      at: now,
      until: now + this.#limits.askTimeoutMs,
      ...(title === undefined ? {} : { title }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(source.kind === 'mcp' ? { server: source.server } : {}),
      ...(name === undefined ? {} : { client: name }),
      ...(profile === undefined ? {} : { profile }),
    }
  }

  #subject(
    { tool, digest }: AskedCall,
    { session }: ClientSession,
    { principal }: ClientLine,
  ): ApprovalSubject {
    return { tool, digest, definition: this.#definitionOf(tool), principal, session: session.id }
  }

  #definitionOf(tool: string): string {
    const registered = this.#registry.get(tool)
    return registered ? definitionHash(registered) : ''
  }

  /** Sealed for the client and its request with all other state, when the request is answered. */
  #state(asked: readonly Pick<AskedCall, 'tool' | 'digest'>[], more: Json): string {
    const calls = asked.map(({ tool, digest }) => ({ tool, digest, definition: this.#definitionOf(tool) }))
    return JSON.stringify({ ask: { calls, nonce: crypto.randomUUID(), ...more } })
  }

  /** Whether a state is used for the first time, at any replica. */
  async #isFirst(nonce: string): Promise<boolean> {
    let isUsed = false
    await this.#store.update(
      `gateway:asked:${nonce}`,
      (current) => {
        isUsed = current !== undefined
        return current ?? true
      },
      { ttlMs: this.#limits.askTimeoutMs },
    )
    return !isUsed
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#time.schedule(ms, resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

function stateOf(requestState: unknown): Json | undefined {
  if (typeof requestState !== 'string' || !requestState.startsWith('{"ask":')) return undefined
  const { ask } = JSON.parse(requestState)
  return isJson(ask) && Array.isArray(ask.calls) ? ask : undefined
}
