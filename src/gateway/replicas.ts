import type { Announcement, Announcements } from 'toolcrib/stores'
import { CatchUp } from './catch-up.ts'
import type { ParkedWork } from './continued-calls.ts'
import { isJson, type Json } from './json-rpc.ts'
import type { ModernRequest } from './pending-call.ts'
import { type ParkedElsewhere, RemoteCalls } from './remote-calls.ts'
import { ReplicaMessenger, type ReplicaServices } from './replica-messenger.ts'
import { type Held, RollCall } from './roll-call.ts'

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
  readonly #work: ReplicaWork
  readonly #messenger: ReplicaMessenger
  readonly #rollCall: RollCall
  readonly #remoteCalls: RemoteCalls
  readonly #catchUp: CatchUp
  readonly #unsubscribe: () => void

  constructor(announcements: Announcements, services: ReplicaServices, work: ReplicaWork) {
    const { schedule } = services
    this.#work = work
    this.#messenger = new ReplicaMessenger(announcements, services)
    this.#rollCall = new RollCall(this.#messenger, announcements, schedule, () => tryStore(services))
    this.#remoteCalls = new RemoteCalls(
      services,
      { messenger: this.#messenger, rollCall: this.#rollCall },
      work,
    )
    this.#catchUp = new CatchUp(this.id, () => work.missed(), schedule)
    this.#unsubscribe = announcements.subscribe({
      announced: (announcement) =>
        void this.#receive(announcement).catch((error) => services.warn(String(error))),
      missed: () => this.#catchUp.begin(),
    })
    void this.#rollCall.begin()
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
    return this.#rollCall.ask(session)
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
    this.#unsubscribe()
    this.#catchUp.close()
    this.#rollCall.close()
    void this.#messenger.send('left', {})
    this.#remoteCalls.close()
    this.#messenger.close()
  }

  async #receive({ topic, body }: Announcement): Promise<void> {
    if (isJson(body) && body.by !== this.id) this.#rollCall.noteMessage(String(body.by))
    const message = isJson(body) ? await this.#messenger.whole(body) : undefined
    if (!message) return
    const { session, server, digest, by } = message
    if (topic === 'client-message' && isJson(message.message))
      this.#work.take(String(session), message.message)
    if (topic === 'session-ended') this.#work.ended(String(session))
    if (topic === 'left') this.#rollCall.left(String(by))
    if (topic === 'session-wanted')
      this.#rollCall.reply(String(by), String(session), this.#work.wanted(String(session)))
    if (topic === 'sessions-found' && Array.isArray(message.answers))
      for (const answer of message.answers.filter(isJson))
        if (answer.to === this.id)
          this.#rollCall.answered(String(answer.session), String(by), answer.isHeld === true)
    if (topic === 'list-changed') this.#work.listChanged(String(server), String(digest))
    if (topic === 'reloaded') this.#work.reloaded()
    await this.#remoteCalls.receive(topic, message)
  }
}

const PROBE_KEY = 'health:probe'
const PROBE_TTL_MS = 60_000

/**
 * If announcements fail, the store may fail too: it is tested, because its health must be known even if no client needs
 * it.
 */
function tryStore({ store }: ReplicaServices): void {
  void store?.set(PROBE_KEY, true, { ttlMs: PROBE_TTL_MS }).catch(() => {})
}
