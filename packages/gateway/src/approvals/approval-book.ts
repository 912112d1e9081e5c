import type { ToolAnnotations } from '@toolcrib/core'
import type { JsonValue, Store } from '@toolcrib/mcp/stores'
import { isJson } from '../json-rpc.ts'

/** A call as a person is asked about it. */
export interface ApprovalSubject {
  /** The registered name of the tool. */
  readonly tool: string
  /** SHA-256 of the arguments. */
  readonly digest: string
  /** SHA-256 of the tool's definition. */
  readonly definition: string
  /** The id of the client's token. */
  readonly principal: string
  /** The client's session; all requests of one token and profile for modern clients. */
  readonly session: string
}

/** A call that waits for a person who is not the client's user. */
export interface PendingApproval extends ApprovalSubject {
  /** Short, to be typed: `toolcrib approve-call 7F3K`. */
  readonly id: string
  readonly title?: string
  readonly server?: string
  readonly annotations?: ToolAnnotations
  /** The arguments, with secrets masked. */
  readonly args: unknown
  /** What the client calls itself. */
  readonly client?: string
  readonly profile?: string
  readonly at: number
  readonly until: number
  readonly isDenied?: boolean
}

/** How long an approval lasts. once: this call; session: the tool in this session; always: the tool as it is now. */
export type GrantKind = 'once' | 'session' | 'always'

/** What a person approved. */
export interface ApprovalGrant extends ApprovalSubject {
  readonly id: string
  readonly kind: GrantKind
  /** Who approved it: the client's own user, or somebody at the page or a terminal. */
  readonly by: 'user' | 'operator'
  readonly at: number
  readonly until?: number
}

/** Everything that is pending or granted: one value in the store, for all replicas. */
export interface ApprovalBook {
  readonly pending: readonly PendingApproval[]
  readonly grants: readonly ApprovalGrant[]
}

const KEY = 'gateway:approvals'
const EMPTY: ApprovalBook = { pending: [], grants: [] }
const ONCE_MS = 10 * 60_000
const SESSION_MS = 60 * 60_000
const MAX_PENDING = 500
const MAX_PENDING_OF_CLIENT = 50
const MAX_GRANTS = 5_000
/** A client that approves its own calls pushes out only its own grants: each change costs as much as there are. */
const MAX_GRANTS_OF_CLIENT = 500

/** The approvals in a store. Every change is atomic, so that replicas agree. */
export class ApprovalBooks {
  readonly #store: Pick<Store, 'get' | 'update'>
  readonly #now: () => number

  constructor(store: Pick<Store, 'get' | 'update'>, now: () => number) {
    this.#store = store
    this.#now = now
  }

  async read(): Promise<ApprovalBook> {
    return withoutExpired(bookOf(await this.#store.get(KEY)), this.#now())
  }

  /** The grant that covers this call, if there is one; using it ends it, or extends it. */
  async use(subject: ApprovalSubject): Promise<ApprovalGrant | undefined> {
    // Most calls have no grant: reading is cheaper than a change.
    if (!(await this.read()).grants.some((grant) => covers(grant, subject))) return undefined
    let used: ApprovalGrant | undefined
    await this.#change((book, now) => {
      used = book.grants.find((grant) => covers(grant, subject))
      if (!used || used.kind === 'always') return book
      const others = book.grants.filter((grant) => grant !== used)
      const kept = used.kind === 'session' ? [{ ...used, until: now + SESSION_MS }] : []
      return { ...book, grants: [...others, ...kept] }
    })
    return used
  }

  /** Adds a grant for later calls, and ends what was pending about the same. */
  grant(subject: ApprovalSubject, kind: GrantKind, id: string): Promise<void> {
    return this.#change((book, now) => ({
      pending: book.pending.filter((pending) => !isSame(pending, subject)),
      grants: withGrant(book, grantOf(subject, { kind, id, by: 'user' }, now)),
    }))
  }

  /**
   * Adds a call that waits, and returns it: the one that waits already, if there is one. Undefined if too many calls of this
   * client wait: they push out neither those of others, nor one whose id somebody is about to type.
   */
  async wait(pending: PendingApproval): Promise<PendingApproval | undefined> {
    let kept: PendingApproval | undefined
    await this.#change((book) => {
      const known = book.pending.find((one) => isSame(one, pending))
      const isTaken = book.pending.some(({ id }) => id === pending.id.slice(0, 4))
      kept = known && !known.isDenied ? known : undefined
      const ofClient = book.pending.filter(({ principal }) => principal === pending.principal)
      if (kept || ofClient.length - (known ? 1 : 0) >= MAX_PENDING_OF_CLIENT) return book
      kept = { ...pending, id: isTaken ? pending.id : pending.id.slice(0, 4) }
      return { ...book, pending: [...book.pending.filter((one) => one !== known), kept].slice(-MAX_PENDING) }
    })
    return kept
  }

  /** Settles a pending call; undefined if there is none with this id. */
  async decide(
    id: string,
    answer: GrantKind | 'deny',
    grantId: string,
  ): Promise<PendingApproval | undefined> {
    let decided: PendingApproval | undefined
    await this.#change((book, now) => {
      decided = book.pending.find((pending) => pending.id === id.toUpperCase() && !pending.isDenied)
      if (!decided) return book
      const others = book.pending.filter((pending) => pending !== decided)
      if (answer === 'deny') return { ...book, pending: [...others, { ...decided, isDenied: true }] }
      return {
        pending: others,
        grants: withGrant(book, grantOf(decided, { kind: answer, id: grantId, by: 'operator' }, now)),
      }
    })
    return decided
  }

  /** Ends what is always granted for a tool. */
  forget(tool: string): Promise<void> {
    return this.#change((book) => ({
      ...book,
      grants: book.grants.filter((grant) => grant.kind !== 'always' || grant.tool !== tool),
    }))
  }

  /** Ends a grant, or each of them; returns how many. */
  async revoke(id?: string): Promise<number> {
    let ended = 0
    await this.#change((book) => {
      const kept = id === undefined ? [] : book.grants.filter((grant) => grant.id !== id)
      ended = book.grants.length - kept.length
      return ended === 0 ? book : { ...book, grants: kept }
    })
    return ended
  }

  async #change(change: (book: ApprovalBook, now: number) => ApprovalBook): Promise<void> {
    await this.#store.update(KEY, (current) => {
      const now = this.#now()
      const before = withoutExpired(bookOf(current), now)
      const after = change(before, now)
      return after === before && current !== undefined ? current : (after as unknown as JsonValue)
    })
  }
}

function grantOf(
  { tool, digest, definition, principal, session }: ApprovalSubject,
  given: Pick<ApprovalGrant, 'kind' | 'id' | 'by'>,
  now: number,
): ApprovalGrant {
  const lastsMs = { once: ONCE_MS, session: SESSION_MS, always: undefined }[given.kind]
  const subject = { tool, digest, definition, principal, session }
  return { ...subject, ...given, at: now, ...(lastsMs === undefined ? {} : { until: now + lastsMs }) }
}

function withGrant({ grants }: ApprovalBook, grant: ApprovalGrant): readonly ApprovalGrant[] {
  const own = grants.filter(({ principal }) => principal === grant.principal)
  const oldest = own.length >= MAX_GRANTS_OF_CLIENT ? own[0] : undefined
  return [...grants.filter((one) => one !== oldest), grant].slice(-MAX_GRANTS)
}

/** Whether a grant is for this call. Whatever it says, a changed definition is asked about again. */
function covers(grant: ApprovalGrant, subject: ApprovalSubject): boolean {
  const isSameTool =
    grant.tool === subject.tool &&
    grant.definition === subject.definition &&
    grant.principal === subject.principal
  if (!isSameTool) return false
  if (grant.kind === 'once') return grant.digest === subject.digest
  return grant.kind === 'always' || grant.session === subject.session
}

function isSame(pending: PendingApproval, { tool, digest, principal }: ApprovalSubject): boolean {
  return pending.tool === tool && pending.digest === digest && pending.principal === principal
}

function bookOf(value: unknown): ApprovalBook {
  return isJson(value) && Array.isArray(value.pending) && Array.isArray(value.grants)
    ? (value as unknown as ApprovalBook)
    : EMPTY
}

function withoutExpired(book: ApprovalBook, now: number): ApprovalBook {
  const isLive = ({ until = Number.POSITIVE_INFINITY }: { readonly until?: number }) => until > now
  if (book.pending.every(isLive) && book.grants.every(isLive)) return book
  return { pending: book.pending.filter(isLive), grants: book.grants.filter(isLive) }
}
