import { sha256 } from '../definition-hash.ts'
import type { AllowedTools } from '../gateway-options.ts'
import type { ApprovalGrant, ApprovalSubject } from './approval-book.ts'

/** What the gateway's only user always allows, as grants; none if there are several users, or nowhere to keep them. */
export class AlwaysGrants {
  readonly #allowed: () => AllowedTools | undefined

  constructor(allowed: () => AllowedTools | undefined) {
    this.#allowed = allowed
  }

  list(): readonly ApprovalGrant[] {
    return Object.entries(this.#allowed()?.list() ?? {}).map(([tool, definition]) => {
      const subject = { tool, definition, digest: '', principal: '', session: '' }
      return { ...subject, id: sha256(tool).slice(0, 16), kind: 'always', by: 'user', at: 0 }
    })
  }

  covers({ tool, definition }: ApprovalSubject): boolean {
    return this.#allowed()?.list()[tool] === definition
  }

  /** Returns whether it is kept. */
  async add({ tool, definition }: ApprovalSubject): Promise<boolean> {
    const allowed = this.#allowed()
    return (
      allowed?.set(tool, definition).then(
        () => true,
        () => false,
      ) ?? false
    )
  }

  /** Ends a grant, or each of them; returns how many. */
  async revoke(id?: string): Promise<number> {
    const ended = this.list().filter((grant) => id === undefined || grant.id === id)
    for (const { tool } of ended) await this.#allowed()?.set(tool, undefined)
    return ended.length
  }
}
