import { freeId } from './wire-calls.ts'

/**
 * Gives each call of a history an id of its own. Some servers start counting again with every turn, and a provider
 * refuses a request with one id twice. Depends only on the messages before, so what was sent once is sent again.
 */
export class CallIds {
  readonly #taken = new Set<string>()
  readonly #counts = new Map<string, number>()
  /** By the id as it was: the new ids of calls without a result, oldest first. */
  readonly #open = new Map<string, string[]>()

  ofCall(id: string): string {
    const own = freeId(id, this.#taken, this.#counts)
    this.#taken.add(own)
    const open = this.#open.get(id)
    if (open) open.push(own)
    else this.#open.set(id, [own])
    return own
  }

  ofResult(id: string): string {
    return this.#open.get(id)?.shift() ?? id
  }
}

/** Said in the user's place where the model spoke last, or twice in a row: many models refuse to be prefilled. */
export const GO_ON = 'Go on from where you stopped.'

/** The messages with `between` wherever one of the model's is followed by another, or by nothing. */
export function withUserTurns<Message>(
  messages: readonly Message[],
  isModels: (message: Message) => boolean,
  between: Message,
): Message[] {
  return messages.flatMap((message, index) => {
    const next = messages[index + 1]
    const isAlone = isModels(message) && (next === undefined || isModels(next))
    return isAlone ? [message, between] : [message]
  })
}
