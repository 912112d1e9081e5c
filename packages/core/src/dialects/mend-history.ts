import { freeId } from './wire-calls.ts'

/**
 * Makes call ids unique within a history. Some servers restart their numbering with every turn, and providers reject
 * a request with duplicate ids. The result depends only on earlier messages, so replayed messages never change.
 */
export class CallIds {
  readonly #taken = new Set<string>()
  readonly #counts = new Map<string, number>()
  /** By original id: the new ids of calls without a result, oldest first. */
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

/**
 * The user message to insert after two messages of the model in a row, or after its last: many models reject prefilled
 * answers.
 */
export const GO_ON = 'Continue from where you stopped.'

/** Inserts `between` after each message of the model that no user message follows. */
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
