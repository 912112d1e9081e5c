import type { Announcement, Announcements } from '@toolcrib/mcp/stores'
import { isJson, type Json } from '../json-rpc.ts'
import type { ModernRequest } from '../modern/pending-call.ts'
import { CatchUp } from './catch-up.ts'
import type { ParkedWork } from './continued-calls.ts'
import { type ParkedElsewhere, RemoteCalls } from './remote-calls.ts'
import { ReplicaMessenger, type ReplicaOptions } from './replica-messenger.ts'
import { type Held, SessionLocator } from './session-locator.ts'

/** What a replica does when another announces something. */
export interface ReplicaWork extends ParkedWork {
  /** Handles a message of an older client, if its session is open here. */
  take(session: string, message: Json): void
  /** The client ended this session at another replica. */
  ended(session: string): void
  /** Another replica looks for a session that the store does not have. Returns whether it is open here. */
  wanted(session: string): boolean
  /** Another replica read a different list of tools from a server. */
  listChanged(server: string, digest: string): void
  /** Another replica read its config or lockfile again. */
  reloaded(): void
  /** Messages were missed. */
  missed(): void
}

/** Sends this gateway's announcements to the other replicas, and handles theirs. */
export class Replicas {
  readonly #announcements: Announcements
  readonly #options: ReplicaOptions
  readonly #messenger: ReplicaMessenger
  readonly #locator: SessionLocator
  readonly #remoteCalls: RemoteCalls
  #stop = () => {}

  constructor(announcements: Announcements, options: ReplicaOptions) {
    this.#announcements = announcements
    this.#options = options
    this.#messenger = new ReplicaMessenger(announcements, options)
    this.#locator = new SessionLocator(this.#messenger, announcements, options.schedule, () =>
      tryStore(options),
    )
    this.#remoteCalls = new RemoteCalls(options, { messenger: this.#messenger, locator: this.#locator })
  }

  /** Does this work for the others from now on. */
  begin(work: ReplicaWork): void {
    const { schedule, warn } = this.#options
    this.#remoteCalls.begin(work)
    const catchUp = new CatchUp(this.id, () => work.missed(), schedule)
    const unsubscribe = this.#announcements.subscribe({
      announced: (announcement) =>
        void this.#receive(announcement, work).catch((error) => warn(String(error))),
      missed: () => catchUp.begin(),
    })
    this.#stop = () => {
      unsubscribe()
      catchUp.close()
    }
    void this.#locator.begin()
  }

  /** Names this replica to the others. */
  get id(): string {
    return this.#messenger.id
  }

  /**
   * Passes on a message of an older client whose request or question is not known here; if the others cannot be
   * reached, later. Returns false if too many messages wait.
   */
  relay(session: string, message: Json): Promise<boolean> {
    return this.#messenger.sendOrQueue('client-message', { session, message })
  }

  ended(session: string): void {
    void this.#messenger.sendOrQueue('session-ended', { session })
  }

  /** Asks for a session that the store does not have: the replica that has it open answers, and writes it again. */
  wanted(session: string): Promise<Held> {
    return this.#locator.ask(session)
  }

  listChanged(server: string, digest: string): void {
    void this.#messenger.sendOrQueue('list-changed', { server, digest })
  }

  reloaded(): void {
    void this.#messenger.sendOrQueue('reloaded', {})
  }

  /** Asks the replica that holds a parked call to continue it, and returns the outcome. */
  resume(parked: ParkedElsewhere, boundTo: string, request: ModernRequest): Promise<Json> {
    return this.#remoteCalls.resume(parked, boundTo, request)
  }

  close(): void {
    this.#stop()
    this.#locator.close()
    void this.#messenger.send('left', {})
    this.#remoteCalls.close()
    this.#messenger.close()
  }

  async #receive({ topic, body }: Announcement, work: ReplicaWork): Promise<void> {
    if (isJson(body) && body.by !== this.id) this.#locator.noteMessage(String(body.by))
    const message = isJson(body) ? await this.#messenger.whole(body) : undefined
    if (!message) return
    const { session, server, digest, by } = message
    if (topic === 'client-message' && isJson(message.message)) work.take(String(session), message.message)
    if (topic === 'session-ended') work.ended(String(session))
    if (topic === 'left') this.#locator.left(String(by))
    if (topic === 'session-wanted')
      this.#locator.reply(String(by), String(session), work.wanted(String(session)))
    if (topic === 'sessions-found' && Array.isArray(message.answers))
      for (const answer of message.answers.filter(isJson))
        if (answer.to === this.id)
          this.#locator.answered(String(answer.session), String(by), answer.isHeld === true)
    if (topic === 'list-changed') work.listChanged(String(server), String(digest))
    if (topic === 'reloaded') work.reloaded()
    await this.#remoteCalls.receive(topic, message)
  }
}

const PROBE_KEY = 'health:probe'
const PROBE_TTL_MS = 60_000

/**
 * If announcements fail, the store may fail too: it is tested, because its health must be known even if no client needs
 * it.
 */
function tryStore({ store }: ReplicaOptions): void {
  void store?.set(PROBE_KEY, true, { ttlMs: PROBE_TTL_MS }).catch(() => {})
}
